-- SPDX-License-Identifier: MIT
-- The functions of postgresql.c, once in each database.
CREATE FUNCTION flake_next() RETURNS bigint AS 'flake_ids', 'pg_flake_next' LANGUAGE C VOLATILE PARALLEL SAFE;
CREATE FUNCTION sno_next(meta integer) RETURNS text AS 'flake_ids', 'pg_sno_next' LANGUAGE C STRICT VOLATILE PARALLEL SAFE;
CREATE FUNCTION uuid7() RETURNS uuid AS 'flake_ids', 'pg_uuid7' LANGUAGE C VOLATILE PARALLEL SAFE;
