/** The table of the least that a key on disk can be, and the statement that writes to it. */

/** With room on its pages for the second version of each row, as the library's table has. */
export const KEPT = `CREATE TABLE kept (
  key text PRIMARY KEY,
  owner uuid NOT NULL,
  fingerprint bytea NOT NULL,
  locked_until timestamptz NOT NULL,
  status int,
  answer bytea
) WITH (fillfactor = 40)`;

/**
 * One statement for all, as prepared as the library's. With the limits, which it does not know,
 * PostgreSQL expects one row and uses the index, however small the table was when it planned.
 */
export const WRITE = `
  WITH begun AS (
    INSERT INTO kept (key, owner, fingerprint, locked_until)
    SELECT key, owner, fingerprint, now() + interval '1 minute'
    FROM (SELECT * FROM unnest($1::text[], $2::uuid[], $3::bytea[]) LIMIT cardinality($1::text[]))
      AS begun (key, owner, fingerprint)
    ORDER BY key
    ON CONFLICT (key) DO NOTHING
    RETURNING key
  ), ended AS (
    UPDATE kept SET status = 201, answer = ended.answer
    FROM (SELECT * FROM unnest($4::text[], $5::uuid[], $6::bytea[]) LIMIT cardinality($4::text[]))
      AS ended (key, owner, answer)
    WHERE kept.key = ended.key AND kept.owner = ended.owner
    RETURNING kept.key
  )
  SELECT key FROM begun UNION ALL SELECT key FROM ended`;
