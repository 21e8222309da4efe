-- Numbers of batches before `position` that have not come in, as ranges such as `3-7,12`; NULL if there are none. One that comes
-- later, from a spill file that was mended or from another copy of it, is known by this.
ALTER TABLE simulation ADD COLUMN missing_batches LONGTEXT;
