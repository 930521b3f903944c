// Torn tails are kept as evidence: the newest ones, within a limit of files and of bytes, and nothing else is removed for them.
import { join } from 'node:path'
import { test } from 'tap'
import { type Log, type LogNotice, openFileLog, type Vfs } from '../src/index.ts'
import { tornBytesMax, tornFilesMax } from '../src/limits.ts'
import { parseTornName } from '../src/segment-header.ts'
import { ManualClock, SimDisk, seededRandom } from '../src/testing/index.ts'

const dir = '/data/wal'
const junk = (round: number) => Buffer.from(`torn in round ${round}`)

interface Scene {
  readonly disk: SimDisk
  readonly notices: LogNotice[]
  open(vfs?: Vfs): Promise<Log>
  names(): Promise<string[]>
  torn(): Promise<string[]>
}

async function scene(): Promise<Scene> {
  const disk = new SimDisk({ random: seededRandom(1) })
  await disk.vfs().makeDirectory('/data')
  await disk.vfs().syncDirectory('/')
  const notices: LogNotice[] = []
  const names = async () => (await disk.vfs().list(dir)).sort()
  return {
    disk,
    notices,
    open: (vfs = disk.vfs()) =>
      openFileLog({ dir, vfs, clock: new ManualClock(), freeBytesHard: 0, onNotice: (notice) => notices.push(notice) }),
    names,
    torn: async () => (await names()).filter((name) => parseTornName(name) !== undefined),
  }
}

/** Kills the process after one record and leaves bytes that do not verify behind it. */
async function stopTorn({ disk, open, names }: Scene, round: number, vfs?: Vfs): Promise<void> {
  const log = await open(vfs)
  await log.append({ type: 16, version: 1, payload: Buffer.from(`record ${round}`) })
  const tail = (await names()).filter((name) => name.endsWith('.wal')).at(-1) ?? ''
  const file = await disk.vfs().open(join(dir, tail), 'write')
  await file.write(junk(round), await file.size())
  await file.close()
  disk.restart('kill')
}

async function contentOf(disk: SimDisk, path: string): Promise<string> {
  const file = await disk.vfs().open(path, 'read')
  const bytes = Buffer.alloc(await file.size())
  await file.read(bytes, 0)
  return bytes.toString()
}

test('the newest torn tails are kept, each start that cuts one off names its file, and every record stays', async (t) => {
  const own = await scene()
  const rounds = 3 * tornFilesMax
  for (let round = 0; round < rounds; round++) {
    await stopTorn(own, round)
    t.ok((await own.torn()).length <= tornFilesMax, `after ${round} starts`)
  }
  const log = await own.open()
  const kept = await own.torn()
  t.equal(kept.length, tornFilesMax)
  const contents = await Promise.all(kept.map((name) => contentOf(own.disk, join(dir, name))))
  const newest = Array.from({ length: tornFilesMax }, (_, i) => junk(rounds - tornFilesMax + i).toString())
  t.strictSame(contents.toSorted(), newest.sort())
  const named = own.notices.flatMap((notice) => (notice.kind === 'tail-cut' ? [notice.path] : []))
  t.equal(new Set(named).size, rounds, 'no file was overwritten')
  const newestName = kept[contents.indexOf(junk(rounds - 1).toString())] ?? 'none'
  t.equal(named.at(-1), join(dir, newestName))
  const texts: string[] = []
  for await (const { payload } of log.read(log.state().lsnFirst)) texts.push(Buffer.from(payload).toString())
  t.strictSame(
    texts,
    Array.from({ length: rounds }, (_, round) => `record ${round}`),
  )
  await log.close()
})

test('later removals from one segment get higher numbers, although earlier files are gone', async (t) => {
  const own = await scene()
  const log = await own.open()
  await log.append({ type: 16, version: 1, payload: Buffer.from('record') })
  await log.close()
  const [segment] = (await own.names()).filter((name) => name.endsWith('.wal'))
  for (let number = 3; number <= 12; number++) {
    const file = await own.disk.vfs().open(join(dir, `${segment}.torn-${number}`), 'create')
    await file.write(junk(number), 0)
    await file.close()
  }
  const tail = await own.disk.vfs().open(join(dir, segment ?? ''), 'write')
  await tail.write(junk(0), await tail.size())
  await tail.close()
  await (await own.open()).close()
  const numbers = (await own.torn()).map((name) => parseTornName(name)?.number ?? 0).sort((a, b) => a - b)
  t.strictSame(numbers, [6, 7, 8, 9, 10, 11, 12, 13], 'the new one is the highest, the oldest are removed')
})

test('torn tails never take more than their bytes, and a start without a torn tail applies the limits too', async (t) => {
  const own = await scene()
  for (let round = 0; round < 5; round++) await stopTorn(own, round)
  const real = own.disk.vfs()
  /** Reports a third of the limit as the size of each torn file. */
  const large: Vfs = {
    ...real,
    async open(path, mode) {
      const file = await real.open(path, mode)
      return /\.torn/.test(path) ? { ...file, size: async () => Math.ceil(tornBytesMax / 3) } : file
    },
  }
  const before = await own.torn()
  t.equal(before.length, 4)
  await (await own.open(large)).close()
  t.equal((await own.torn()).length, 2, 'three would be more than the limit')
  t.ok(own.notices.at(-1)?.kind === 'tail-cut')
  const count = own.notices.length
  await (await own.open()).close()
  t.equal(own.notices.length, count)
  t.equal((await own.torn()).length, 2)
})

test('a torn file that cannot be read does not keep the log from opening, and other files are not touched', async (t) => {
  const own = await scene()
  await stopTorn(own, 0)
  await (await own.open()).close()
  const others = ['notes.torn', '00000000000000000001.torn', 'x.wal.torn']
  for (const name of others) await (await own.disk.vfs().open(join(dir, name), 'create')).close()
  own.disk.faults = ({ call, path }) =>
    call === 'open' && parseTornName(path.slice(dir.length + 1)) !== undefined ? { errno: 'EACCES' } : undefined
  await (await own.open()).close()
  t.equal((await own.torn()).length, 1)
  for (const name of others) t.ok((await own.names()).includes(name), name)
})
