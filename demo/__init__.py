"""The main job on real data: a broker, the streams, the service, all on this machine."""
