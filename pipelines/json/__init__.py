"""JSON messages: parsing in the JVM, and reasons why a message is refused."""
