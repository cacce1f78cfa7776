"""Row subscriptions: changed rows as server-sent events, from the snapshots that the followers of tables find.

From the top down; each imports only what is beside or below it:

| module | what |
|---|---|
| `event_stream` | the answer with the events of a subscription |
| `subscriptions` | the feeds of the tables that have subscribers |
| `subscription` | one subscription: its position, and its events in order |
| `table_feed` | the newest snapshot of a table, and the parts of changed rows that its subscriptions share |
| `changed_rows` | one part of the changed keys, and its rows as events |
| `subscription_request` | the keys, the columns and the beginning that a request asks for |
| `cursor`, `server_sent_events` | the position of a subscription as text; events as bytes |
"""
