/** What the shop keeps. Every row names the key that made it, so that doubles can be found. */
export const TABLES = `
  CREATE TABLE customers (name text PRIMARY KEY, receipts int NOT NULL DEFAULT 0);
  CREATE TABLE orders (id serial PRIMARY KEY, key text NOT NULL);
  CREATE TABLE charges (id text PRIMARY KEY, key text NOT NULL);
  CREATE TABLE receipts (customer text NOT NULL, number int NOT NULL, key text NOT NULL);
  CREATE TABLE books (key text NOT NULL)`;

export const CUSTOMERS = ['ada', 'bob', 'cleo', 'dan', 'eve', 'finn'] as const;
