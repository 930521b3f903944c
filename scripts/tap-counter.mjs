// Reads tap's output line by line: counts named tests, prints one line per file as it ends, and repeats what failed.
// In TAP every test file is a subtest at the margin and its named tests are indented by four spaces.

const testPoint = /^( *)(not )?ok \d+(?: - )?(.*)$/

/** `print` takes finished lines. Feed every line to `line`, then ask `result` with tap's exit code; `failedFiles` names files that failed. */
export function tapCounter(print) {
  const total = { passed: 0, failed: 0, skipped: 0, failedFiles: [] }
  let file = emptyFile()
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
    if (/^ +---$/.test(text)) {
      diagnosticEnd = text.replace('---', '...')
    } else if (!isTapSyntax(text)) {
      file.failures.push(text)
    }
  }

  function finished(indent, ok, name, text) {
    // What tap says below a failed file is how it was started, and below a failed parent where its failed child stands.
    diagnosticWanted = !ok && indent > 0 && file.failureIndent <= indent
    file.failureIndent = ok ? 0 : indent
    if (indent === 0) return fileFinished(ok, name)
    const skipped = / # (SKIP|TODO)\b/i.test(name)
    if (indent === 4) file[skipped ? 'skipped' : ok ? 'passed' : 'failed'] += 1
    if (skipped) print(`  skipped: ${name.trim()}`)
    else if (!ok) file.failures.push(text)
  }

  function fileFinished(ok, name) {
    // A file that crashed may have no failing test of its own, and is itself the failure then.
    if (!ok && file.failed === 0) file.failed = 1
    const [title, time = ''] = name.split(' # time=')
    print(`${ok ? 'ok    ' : 'FAILED'} ${title}  ${file.passed} passed, ${file.failed} failed  ${seconds(time)}`)
    if (!ok) for (const failure of file.failures) print(`  ${failure}`)
    for (const kind of ['passed', 'failed', 'skipped']) total[kind] += file[kind]
    if (!ok) total.failedFiles.push({ name: title, passed: file.passed, failed: file.failed, skipped: file.skipped })
    file = emptyFile()
  }

  function result(exitCode) {
    if (exitCode !== 0 && total.failed === 0) {
      print(`tap ended with code ${exitCode} and no failed test`)
      total.failed += 1
    }
    if (total.passed + total.failed + total.skipped === 0) {
      print('no test ran')
      total.failed += 1
    }
    return total
  }

  return { line, result }
}

function emptyFile() {
  return { passed: 0, failed: 0, skipped: 0, failures: [], failureIndent: 0 }
}

function isTapSyntax(text) {
  return text.trim() === '' || /^ *(# (Subtest:|time=)|\d+\.\.\d+|TAP version|})/.test(text)
}

function seconds(time) {
  const milliseconds = time.endsWith('ms') ? Number.parseFloat(time) : Number.parseFloat(time) * 1000
  return Number.isFinite(milliseconds) ? `${(milliseconds / 1000).toFixed(1)} s` : ''
}
