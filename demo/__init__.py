"""Demo of the main job on real data: a broker, the streams and the service, all on this machine."""
