#!/usr/bin/env python3
"""Runs a loop in a GitHub workflow: outputs, a job summary, and one annotation for each failing check."""

import json
import os
import shlex
import subprocess
import sys
import tempfile

MAX_EXCERPT = 4000


def given(name):
    return os.environ.get(f"RALPH_ACTION_{name}", "")


def command():
    words = [given("PROGRAM") or "ralph", "run", given("OBJECTIVE"), "--criteria", given("CRITERIA")]
    words += ["--max", given("MAX"), "--max-cost", given("MAX_COST"), "--json", "--plain"]
    if given("AGENT"):
        words += ["--agent", given("AGENT")]
    return words + shlex.split(given("ARGS"))


def escaped(text):
    """A value of a workflow command: a line break or a percent sign would end it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def title(text):
    return escaped(text).replace(":", "%3A").replace(",", "%2C")


def failing(result):
    checks = ((result.get("verdict") or {}).get("checks")) or []
    for check in checks:
        outcome = check.get("outcome", check)
        if not outcome.get("passed", True):
            yield outcome.get("command", "check"), (outcome.get("excerpt") or "").strip()


def summary(result):
    status = result.get("status", "ERROR")
    reason = f" ({result['reason']})" if result.get("reason") else ""
    verified = "yes" if result.get("verified") else "no"
    lines = [
        f"## Ralph: {status}{reason}",
        "",
        "| verified | iterations | cost | false claims | tampering |",
        "|---|---|---|---|---|",
        f"| {verified} | {result.get('iterations', '?')} | ${result.get('costUSD') or 0:.2f} "
        f"| {result.get('falseClaims', 0)} | {result.get('tampered', 0)} |",
        "",
    ]
    if result.get("details") or result.get("error"):
        lines += [str(result.get("details") or result.get("error")), ""]
    for line, excerpt in failing(result):
        fence = "`" * 4
        lines += [f"### Failing: `{line}`", "", fence, excerpt[-MAX_EXCERPT:], fence, ""]
    return "\n".join(lines) + "\n"


def append(variable, text):
    path = os.environ.get(variable)
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)


def main():
    run = subprocess.run(command(), stdout=subprocess.PIPE, text=True, check=False)
    try:
        result = json.loads(run.stdout)
    except ValueError:
        result = {"status": "ERROR", "error": f"ralph ended with {run.returncode} and without a result"}
    handle, path = tempfile.mkstemp(prefix="ralph-", suffix=".json", dir=os.environ.get("RUNNER_TEMP"))
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=2)
    values = {
        "status": result.get("status", "ERROR"),
        "reason": result.get("reason") or "",
        "verified": str(bool(result.get("verified"))).lower(),
        "iterations": result.get("iterations", 0),
        "cost-usd": result.get("costUSD") or 0,
        "result": path,
    }
    append("GITHUB_OUTPUT", "".join(f"{name}={value}\n" for name, value in values.items()))
    append("GITHUB_STEP_SUMMARY", summary(result))
    found = list(failing(result))
    for line, excerpt in found:
        print(f"::error title={title('Failing: ' + line)}::{escaped(excerpt[-MAX_EXCERPT:] or 'the check fails')}")
    if run.returncode != 0 and not found:
        print(f"::error title=Ralph::{escaped(str(result.get('details') or result.get('error') or values['status']))}")
    return run.returncode


if __name__ == "__main__":
    sys.exit(main())
