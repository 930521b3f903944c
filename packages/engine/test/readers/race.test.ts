// Reader threads search without pause while their owner writes, rebuilds, vacuums, deletes, restores, and takes checkpoints. Every answer
// must be one of a version that existed between the begin and the end of the search, with whole objects.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import tap, { test } from 'tap'
import { openDirectory } from '../search/rig.ts'

const isLong = process.env.ANNAL_LONG === '1'
const seed = Number(process.env.ANNAL_SEED ?? Date.now() % 1_000_000)
tap.setTimeout(isLong ? 5_000_000 : 300_000)

interface Report {
  readonly searches: number
  readonly left: number
  readonly checked: number
  readonly batches: number
  readonly checkedReads: number
  readonly sparseRan: number
  readonly sparseLeft: number
  readonly sparseChecked: number
  readonly faults: readonly string[]
}

test(`readers see one version each under every kind of write (ANNAL_SEED=${seed})`, async (t) => {
  const program = fileURLToPath(new URL('./race-program.ts', import.meta.url))
  const seconds = Number(process.env.ANNAL_SECONDS ?? (isLong ? 3600 : 0))
  const args = ['--conditions=annal-source', program, await openDirectory(t), seed, isLong ? 0 : 70, seconds].map(
    String,
  )
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 26 })
  const report: Report = JSON.parse(stdout)
  t.comment(stdout)
  t.same(report.faults, [])
  t.ok(report.checked > 100, `${report.checked} answers compared`)
  t.ok(report.batches > 20, `${report.batches} batches`)
  t.ok(report.checkedReads > 100, `${report.checkedReads} objects read by id compared`)
  t.ok(report.sparseChecked > 100, `${report.sparseChecked} answers of sparse fields compared`)
  t.ok(report.sparseLeft < report.sparseRan, `${report.sparseLeft} sparse searches left, ${report.sparseRan} ran`)
  t.ok(report.left < report.searches / 2, `${report.left} of ${report.searches} searches left to the owner`)
})
