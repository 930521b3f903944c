// Which test files there are, what each is weighed at, and which of them a selection means. It knows nothing of how they run.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { root } from '../setup.mjs'
import { affectedTests, openGraph } from './graph.mjs'
import { traitsOf } from './traits.mjs'

export const weightsFile = path.join(root, 'scripts', 'testing', 'weights.json')

/** Files that compare durations run when nothing else does; each says what it compares. */
export const measures = new Map([
  ['packages/engine/test/crash/recovery-cost.test.ts', 'processor time and memory of two replays'],
  ['packages/server/test/overload.test.ts', 'answers while one client asks for more than there is'],
])

/** A file above it is no part of the fast loop. */
const fastSecondsMax = 12

/**
 * packages/<name>/test/<anything>.test.ts, those of docker/, benchmarks/, docs/ and of these scripts, in an order that no file
 * system decides.
 */
export function allTestFiles() {
  const packages = readdirSync(path.join(root, 'packages')).map((name) => `packages/${name}/test`)
  return [...packages, 'docker/test', 'benchmarks/test', 'docs/test', 'scripts/test']
    .flatMap((folder) => filesBelow(folder).map((name) => `${folder}/${name}`))
    .filter((name) => /\.test\.(ts|mjs)$/.test(name))
    .sort()
}

function filesBelow(folder) {
  try {
    return readdirSync(path.join(root, folder), { recursive: true }).map((name) => name.split(path.sep).join('/'))
  } catch (error) {
    if (error.code === 'ENOENT') return []
    throw error
  }
}

/** What each file took last: seconds from its start to its end, and seconds of processor in it and its children. */
export function readWeights() {
  return JSON.parse(readFileSync(weightsFile, 'utf8'))
}

/** The files that run in this process alone: nothing they start is a process, and they are soon done. */
export function fastTestFiles() {
  const graph = openGraph()
  const weights = readWeights()
  return allTestFiles().filter((file) => {
    const traits = traitsOf(graph, file)
    return !traits.has('processes') && !measures.has(file) && (weights[file]?.seconds ?? 0) <= fastSecondsMax
  })
}

/** The files that what changed since `ref` can affect, by imports; with no ref, since the branch left main. */
export function changedTestFiles(ref) {
  const since = ref ?? mergeBase() ?? 'HEAD'
  const changed = lines(['diff', '--name-only', '--no-renames', since, '--'])
  const added = lines(['ls-files', '--others', '--exclude-standard'])
  const files = [...new Set([...changed, ...added])].sort()
  return { since, changed: files, ...affectedTests(openGraph(files), allTestFiles(), files) }
}

function mergeBase() {
  for (const main of ['origin/main', 'main']) {
    try {
      return lines(['merge-base', 'HEAD', main])[0]
    } catch {
      // There is no such branch here.
    }
  }
  return undefined
}

function lines(args) {
  const text = execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  return text.split('\n').filter((line) => line !== '')
}

/** Arguments as paths from the top of the repository; a folder stands for the test files below it. */
export function namedTestFiles(names) {
  return names.flatMap((name) => {
    const file = path.relative(root, path.resolve(root, name)).split(path.sep).join('/')
    const below = allTestFiles().filter((one) => one.startsWith(`${file}/`))
    return below.length > 0 && !existsSync(path.join(root, `${file}.ts`)) ? below : [file]
  })
}
