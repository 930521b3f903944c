// Commit messages since this check exists: a subject `package: verb what` of at most 72 characters, and a body wrapped at 72. Outside
// a git checkout, and in a clone too shallow to show where the check began, there is nothing to read and nothing is wrong.
import { execFileSync } from 'node:child_process'
import { houseDir } from './source-files.ts'

const thisFile = 'scripts/check/commits.ts'
const columnsMax = 72
const subjectForm = /^[a-z][a-z0-9-]*(?:, [a-z][a-z0-9-]*)*: [a-z]\S* \S/

export function commitFaults(): string[] {
  const first = git('log', '--diff-filter=A', '--format=%H', '--', thisFile)?.trim().split('\n').at(-1)
  if (first === undefined || first === '') return []
  const log = git('log', '--no-merges', '--format=%h%n%B%x00', `${first}..HEAD`) ?? ''
  return log
    .split('\0')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
    .flatMap(messageFaults)
}

/** `entry` is a short hash, a line break and the message. */
function messageFaults(entry: string): string[] {
  const [hash, subject = '', ...rest] = entry.split('\n')
  const body = rest.join('\n').trim().split('\n')
  const faults: string[] = []
  if (subject.length > columnsMax) faults.push(`the subject has ${subject.length} characters, ${columnsMax} at most`)
  if (!subjectForm.test(subject)) faults.push('the subject is not of the form "package: verb what"')
  if (body[0] === '') faults.push('the message has no body that says what was, what is, and why')
  // A line without a space is an address or a command's output, which cannot be wrapped.
  const long = body.find((line) => line.length > columnsMax && line.trim().includes(' '))
  if (long !== undefined) faults.push(`a line of the body has ${long.length} characters, ${columnsMax} at most`)
  return faults.map((fault) => `commit ${hash} "${subject}": ${fault}`)
}

function git(...args: string[]): string | undefined {
  try {
    return execFileSync('git', args, { cwd: houseDir, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  } catch {
    return undefined
  }
}
