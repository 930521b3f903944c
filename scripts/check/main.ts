// The checks that types and lint cannot make: who may import whom, no cycles, no clock and no chance in the fold,
// an explanation for every error code, a test behind every promise that names one, a file behind every path that a page
// names, a lock file for every platform, one number for each decision, commit messages in one form, and no retired word.
// `npm run check` runs it; it prints one line per fault and exits with 1 when there is any.
import { commitFaults } from './commits.ts'
import { decisionFaults } from './decisions.ts'
import { errorCodeFaults } from './error-codes.ts'
import { foldFaults } from './fold.ts'
import { importFaults } from './imports.ts'
import { lockFileFaults } from './lock-file.ts'
import { namedPathFaults } from './named-paths.ts'
import { namedTestFaults } from './named-tests.ts'
import { retiredWordFaults } from './retired-words.ts'

const faults = [
  ...(await importFaults()),
  ...(await foldFaults()),
  ...(await errorCodeFaults()),
  ...namedPathFaults(),
  ...namedTestFaults(),
  ...lockFileFaults(),
  ...decisionFaults(),
  ...commitFaults(),
  ...retiredWordFaults(),
]
for (const fault of faults) console.error(fault)
console.log(
  faults.length === 0
    ? 'imports, the fold, error codes, named paths and tests, the lock file, decisions, commits and words: in order'
    : `${faults.length} faults`,
)
process.exitCode = faults.length === 0 ? 0 : 1
