"""Makes the elevation models of this folder with GDAL (gdal_translate) and PIL; tests/dem.rs knows their heights by formula."""

import subprocess

import numpy as np
from PIL import Image

cols, rows = 7, 5
i, j = np.meshgrid(np.arange(cols), np.arange(rows))
h = 100 + 7*i - 3*j + i*j + 0.125*i
h[1, 2] = -9999
def asc(path, a, corner, cell, fmt):
    with open(path, 'w') as f:
        f.write(f"ncols {cols}\nnrows {rows}\nxllcorner {corner[0]}\nyllcorner {corner[1]}\ncellsize {cell}\nNODATA_value -9999\n")
        for r in a: f.write(' '.join(fmt % v for v in r) + '\n')
asc('f.asc', h, (385000, 6672000), 10, '%.3f')
whole = np.where(h == -9999, h, np.floor(h))
asc('i.asc', whole, (385000, 6672000), 10, '%d')
asc('deg.asc', whole, (24.5, 60.0), 1/3600, '%d')
run = lambda *a: subprocess.run(['gdal_translate', '-q', *a], check=True)
run('-ot','Float32','-a_srs','EPSG:3067','f.asc','float32.tif')
run('-ot','Float64','-co','BIGTIFF=YES','-a_srs','EPSG:3067','f.asc','float64_big.tif')
run('-ot','Float32','-co','COMPRESS=DEFLATE','-co','PREDICTOR=3','-co','TILED=YES','-co','BLOCKXSIZE=16','-co','BLOCKYSIZE=16','-a_srs','EPSG:3067','f.asc','float32_tiled.tif')
run('-ot','Int16','-co','COMPRESS=LZW','-co','PREDICTOR=2','-a_srs','EPSG:3067','i.asc','int16_lzw.tif')
run('-ot','Int32','-a_srs','EPSG:3067','i.asc','int32.tif')
run('-ot','Byte','-a_nodata','0','-a_srs','EPSG:3067','i.asc','byte.tif')
run('-ot','UInt16','-a_nodata','0','-a_srs','EPSG:3067','-co','ENDIANNESS=BIG','i.asc','uint16_big_endian.tif')
run('-ot','Int16','-a_srs','EPSG:4326','deg.asc','degrees.tif')
run('-ot','Int16','-a_scale','0.1','-a_offset','5','-a_srs','EPSG:3067','i.asc','scaled.tif')
run('-ot','Float32','-a_srs','EPSG:2272','i.asc','feet.tif')  # US survey feet
run('-of','AAIGrid','float32.tif','gdal.asc')
run('-of','AAIGrid','degrees.tif','gdal_degrees.asc')
run('-of','USGSDEM','-ot','Int16','int16_lzw.tif','usgs.dem')
run('-of','USGSDEM','-ot','Int16','degrees.tif','usgs_degrees.dem')
u = np.where(whole == -9999, 0, whole).astype(np.uint16)
Image.fromarray(u).save('grey16.png')
Image.fromarray(u.astype(np.uint8)).save('grey8.png')
la = np.dstack([u.astype(np.uint8), np.where(whole == -9999, 0, 255).astype(np.uint8)])
Image.fromarray(la, 'LA').save('grey8_alpha.png')
run('-of','PNG','-ot','UInt16','-a_nodata','0','i.asc','gdal16.png')

import trimesh

# The surface of the same heights without the hole, as triangles: y up, x east, z south.
points = np.column_stack([10.0 * i.ravel(), np.where(h == -9999, 0, h).ravel(), 10.0 * j.ravel()])
faces = []
for r in range(rows - 1):
    for c in range(cols - 1):
        a = r * cols + c
        faces += [[a, a + cols, a + 1], [a + 1, a + cols, a + cols + 1]]
surface = trimesh.Trimesh(points, faces, process=False)
surface.export('surface.stl')
surface.export('surface.obj')
