"""The tables of an outbox, and how older files come to have them (pure).

`head` has one row for each lane that holds live deliveries: the one whose turn it is. It is all that a claim
looks at, so that a claim costs the same with ten deliveries and with a million. A lane is a key (`kKEY`), or a
delivery without one (`iID`). Its row stays with a delivery that waits for another try: that holds the key.
"""

# Written into the file's header: `HTOB`.
APPLICATION_ID = 0x48544F42

_FIRST = """
create table delivery (
  number integer primary key autoincrement,
  id text not null unique,
  lane text not null,
  key text,
  type text not null,
  payload text not null,
  state text not null,
  attempts integer not null,
  attempts_allowed integer not null,
  ready_at integer not null,
  span integer not null,
  claim_token text,
  claimed_by text,
  cancel_requested integer not null default 0,
  result text,
  last_error text,
  cause text,
  idempotency_key text unique,
  announced integer not null default 1,
  created integer not null,
  ended integer
);
create index delivery_live on delivery (lane, number) where state in ('pending', 'delivering');
create index delivery_state on delivery (state, number);
create index delivery_unannounced on delivery (number) where announced = 0;
create table head (
  lane text primary key,
  number integer not null,
  ready_at integer not null,
  held integer not null
) without rowid;
create index head_ready on head (held, ready_at, number);
create table key_rule (
  key text primary key,
  paused integer not null default 0,
  stopped integer not null default 0
) without rowid;
create table clock (boot text primary key, ahead integer not null) without rowid;
"""

# Each step leads to the version that is its place, counted from 1. A step that was released never changes.
STEPS: tuple[str, ...] = (_FIRST,)
