-- The table of holdfast-postgres. It may run again, and in many processes at once.
DO $$ BEGIN
  IF to_regclass('"holdfast_locks"') IS NULL THEN
    CREATE TABLE "holdfast_locks" (
      key text COLLATE "C" PRIMARY KEY,
      version uuid NOT NULL,
      state text NOT NULL,
      forget_at bigint NOT NULL
    ) WITH (
      fillfactor = 50,
      autovacuum_vacuum_threshold = 200,
      autovacuum_vacuum_scale_factor = 0.05,
      autovacuum_vacuum_cost_delay = 0
    );
    ALTER TABLE "holdfast_locks" ALTER COLUMN state SET STORAGE MAIN;
  END IF;
EXCEPTION WHEN unique_violation OR duplicate_table OR duplicate_object THEN NULL;
END $$;
