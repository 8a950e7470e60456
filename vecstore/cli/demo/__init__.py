"""The main job on real input: `vecstore demo`."""
