//! Readings with more numbers than a record's flat part: one row of the log each, and the same numbers for all readers.

use simpartner::{recorder::Inquiry, sim::Simulation};
use simpartner_description::xml;
use simpartner_wire::signal::MOST_FIELDS_IN_RECORD;

use super::{
    test_database::{TestDatabase, Value, wait},
    *,
};

/// A robot that falls past a wall, with a lidar of 8 by 640 rays and a small scanner.
const ROBOT: &str = "<robot name='Falling'><body name='Hull'><mass>1</mass><box x='0.1' y='0.1' z='0.1'/></body>
    <sensor type='ScannerSensor' name='Lidar' body='Hull' port='0' rate='100' rays='640' layers='8' halfAngle='3'
        verticalHalfAngle='0.3' range='20'><noise standardDeviation='0.01'/></sensor>
    <sensor type='ScannerSensor' name='Small' body='Hull' port='0' rate='100' rays='3' halfAngle='1' range='20'/></robot>";
const WORLD: &str = "<world name='wall'><surface/><object type='Body' name='Wall'><static/><pose x='2' y='1'/>
    <box x='0.2' y='2' z='4'/></object><robot file='robot.xml'><pose y='1.5'/></robot></world>";

const STEPS: u64 = 40;

/// The run and its records.
fn fall() -> (RunDescription, Vec<StepRecord>) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("robot.xml"), ROBOT).unwrap();
    std::fs::write(folder.path().join("world.xml"), WORLD).unwrap();
    let world = Arc::new(xml::read_world(&folder.path().join("world.xml")).unwrap());
    let settings = simpartner_dynamics::Settings::default();
    let mut simulation = Simulation::new(Arc::clone(&world), Timestep::MILLISECOND, settings).unwrap();
    let layout = Arc::clone(simulation.layout());
    let mass = |body| simpartner_dynamics::mass_properties(body).unwrap();
    let masses = world.mechanism.bodies.iter().map(mass).collect();
    let records = (0..STEPS).map(|_| {
        let mut record = StepRecord::new(&layout);
        simulation.step(&mut record);
        record
    });
    let records = records.collect();
    (RunDescription { world, layout, masses, ..run() }, records)
}

fn numbers(rows: Vec<Vec<Value>>) -> Vec<f64> {
    let number = |row: Vec<Value>| if let Value::Number(number) = row[0] { number } else { panic!("{row:?}") };
    rows.into_iter().map(number).collect()
}

#[test]
fn a_long_reading_is_one_row_and_reads_back_to_the_same_bits() {
    let (run, records) = fall();
    let (layout, lidar) = (Arc::clone(&run.layout), DeviceId::new(0));
    assert!(layout.device_info(lidar).fields.len() > MOST_FIELDS_IN_RECORD && layout.device(lidar).is_empty());
    let fresh: Vec<&StepRecord> = records.iter().filter(|record| record.fresh[0]).collect();
    assert!(fresh.len() >= 3 && fresh[1].device(&layout, lidar) != fresh[2].device(&layout, lidar));
    // Steps in between share the reading.
    assert!(std::ptr::eq(records[30].device(&layout, lidar), records[33].device(&layout, lidar)));
    for target in TestDatabase::all() {
        let recorder = Recorder::start(Settings::new(target.database.clone()), run.clone()).unwrap();
        let sender = recorder.sender();
        records.iter().for_each(|record| sender.send(Arc::new(record.clone())).unwrap());
        drop(sender);
        recorder.finish(finished(STEPS)).unwrap();
        let count = |sql: &str| numbers(target.rows(sql))[0] as usize;
        assert_eq!(count("SELECT count(*) FROM scan"), fresh.len());
        let reader = simpartner::recorder::Reader::new(&target.database);
        assert_eq!(wait(reader.verify(Some(1))).unwrap()[0].findings, Vec::<String>::new());
        let read = wait(reader.steps(1, &layout, 1, 1, STEPS)).unwrap();
        for (read, record) in read.iter().zip(&records).filter(|(_, record)| record.fresh[0]) {
            assert!(read.fresh[0] && read.device(&layout, lidar) == record.device(&layout, lidar));
        }
        // The view has each ray, of long and of short readings.
        let last = fresh[fresh.len() - 1];
        let rays = |device: &str| {
            numbers(target.rows(&format!(
                "SELECT distance FROM scannerSensor WHERE device = '{device}' AND step = {} ORDER BY layer, ray",
                last.step
            )))
        };
        let close = |found: &[f64], expected: &[f64]| {
            found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12)
        };
        assert!(close(&rays("Lidar"), last.device(&layout, lidar)), "{}", target.name());
        assert!(close(&rays("Small"), last.device(&layout, DeviceId::new(1))), "{}", target.name());
        check_changed(&target, &layout, last);
    }
}

/// A number that was changed afterwards is found by the checksums, and named by the comparison with a replay.
fn check_changed(target: &TestDatabase, layout: &Arc<Layout>, record: &StepRecord) {
    let mut inquiry = Inquiry::open(&target.database).unwrap();
    assert_eq!(inquiry.deviation(1, layout, Timestep::MILLISECOND, record).unwrap(), None);
    drop(inquiry);
    let of_step = format!("simulationRowID = (SELECT simulationRowID FROM simulationRow WHERE step = {})", record.step);
    let Value::Text(text) = target.rows(&format!("SELECT distances FROM scan WHERE {of_step}"))[0][0].clone() else {
        panic!("no text")
    };
    let second = text.split(',').nth(1).unwrap();
    let changed = text.replacen(second, "1.25", 1);
    target.execute(&format!("UPDATE scan SET distances = '{changed}' WHERE {of_step}"));
    let found = Inquiry::open(&target.database).unwrap().deviation(1, layout, Timestep::MILLISECOND, record).unwrap();
    let found = found.expect("it was changed");
    assert_eq!((found.component.as_str(), found.field.as_str()), ("Falling/Lidar", "distance_1_2"));
    assert_eq!(found.logged, Some(simpartner::recorder::inquiry::Value::Real(1.25)));
    let reader = simpartner::recorder::Reader::new(&target.database);
    let findings = wait(reader.verify(Some(1))).unwrap().remove(0).findings;
    assert!(findings.iter().any(|finding| finding.contains("scan")), "{findings:?}");
}
