// Reads the TAP that one test file writes, line by line: counts its named tests (the blocks directly in the file) and keeps what
// failed, so that it can be repeated.

const testPoint = /^( *)(not )?ok \d+(?: - )?(.*)$/

/** Feed every line of the file to `line`, then call `end` with how it ended. */
export function tapCounter() {
  const file = { passed: 0, failed: 0, skipped: 0, failures: [], skips: [] }
  let failureIndent = 0
  let planned = false
  /** The last assertion that passed: what a test that times out reached. */
  let reached = 'nothing'
  // The indented block under a test point: where it ends, and whether the point it explains is a failure worth repeating.
  let diagnosticEnd
  let diagnosticWanted = false

  function line(text) {
    if (diagnosticEnd !== undefined) {
      if (diagnosticWanted) file.failures.push(text)
      if (text === diagnosticEnd) diagnosticEnd = undefined
      return
    }
    const point = testPoint.exec(text)
    if (point) return finished(point[1].length, point[2] === undefined, point[3], text)
    if (/^1\.\.\d+/.test(text)) planned = true
    if (/^ +---$/.test(text)) diagnosticEnd = text.replace('---', '...')
    else if (!isTapSyntax(text)) file.failures.push(text)
  }

  function finished(indent, ok, name, text) {
    // Below a failed parent TAP says where its failed child stands, which is said already.
    diagnosticWanted = !ok && failureIndent <= indent
    failureIndent = ok ? 0 : indent
    const skipped = / # (SKIP|TODO)\b/i.test(name)
    if (indent === 0) file[skipped ? 'skipped' : ok ? 'passed' : 'failed'] += 1
    if (skipped) file.skips.push(name.trim())
    else if (!ok) file.failures.push(text)
    if (!ok && /^timeout!/.test(name)) file.failures.push(`${' '.repeat(indent)}the last that passed: ${reached}`)
    if (ok) reached = name
  }

  /** `fault`: why the file failed whatever its tests say, such as how it ended. */
  function end({ code, fault }) {
    const why = fault ?? (code !== 0 ? `the file ended with ${code}` : planned ? undefined : 'the file ended early')
    // A file that crashed may have no failing test of its own, and is itself the failure then.
    if (why !== undefined && (file.failed === 0 || fault !== undefined)) {
      if (file.failed === 0) file.failed = 1
      file.failures.push(why)
    }
    return file
  }

  return { line, end }
}

function isTapSyntax(text) {
  return text.trim() === '' || /^ *(# (Subtest:|time=|timeout=|{ total)|\d+\.\.\d+|TAP version|})/.test(text)
}
