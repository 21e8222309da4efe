-- Files that are not text, such as elevation models, as they are; and the BLAKE3 hash of every file, in hexadecimal, as `b3sum` tells it.
ALTER TABLE simulationFile ADD COLUMN content BYTEA;
ALTER TABLE simulationFile ADD COLUMN blake3 TEXT;
