"""For `gunicorn bench.portal.bare_app:app`: a request that is read and answered, and nothing else."""

from __future__ import annotations

from flask import Flask, Response, jsonify, request

app = Flask("bare")


@app.post("/api/v1/submissions")
def hand_in() -> tuple[Response, int]:
    """Read JSON and answer JSON."""
    found = request.get_json()
    return jsonify({"id": "0", "url": "/0", "position": len(found)}), 202
