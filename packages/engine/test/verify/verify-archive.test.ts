// What is archived is read by nobody until it is needed, so looking it over must find whatever the disk did to it.
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openEngine, verifyArchive } from '@annal/engine'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import tap, { type Test, test } from 'tap'
import { denseField, runRandomLife, temporaryDirectory } from '../backup/rig.ts'

// For the file as a whole; a loaded machine takes its time.
tap.setTimeout(300_000)

const seed = chosenSeed()
const long = process.env.ANNAL_LONG === '1'

/** Several starts, each with a checkpoint, so that segments and checkpoints were given up to the archive. */
async function directoryWithArchive(t: Test): Promise<string> {
  const dataDir = await temporaryDirectory(t)
  const random = seededRandom(seed)
  for (let start = 0; start < 5; start++) {
    const engine = await openEngine({ dataDir, threads: 1, archive: { maxBytes: 1e12, maxAgeMs: 1e12 } })
    try {
      const database = engine.database()
      if (start === 0) await database.createCollection({ name: 'a', fields: [denseField()] })
      await runRandomLife(database.collection('a'), random, 6)
      t.same((await verifyArchive({ dataDir }))?.faults ?? [], [], 'while an engine has it open')
    } finally {
      await engine.close()
    }
  }
  return dataDir
}

test(`every damage to an archive is detected, and an intact one is valid (ANNAL_SEED=${seed})`, async (t) => {
  t.equal(await verifyArchive({ dataDir: await temporaryDirectory(t) }), undefined, 'there is none')
  const dataDir = await directoryWithArchive(t)
  const report = await verifyArchive({ dataDir })
  t.same(report?.faults, [])
  t.ok(report && report.segments > 1 && report.checkpoints > 0, JSON.stringify(report))
  t.equal(report?.lsnFirst, 1)
  const random = seededRandom(seed + 1)
  const archive = join(dataDir, 'archive')
  const segments = (await readdir(join(archive, 'wal'))).sort()
  const files = (await readdir(archive, { recursive: true })).filter((name) => /\.(wal|snap|json)$/.test(name))
  for (let i = 0; i < (long ? 500 : 40); i++) {
    const name = files[random.below(files.length)] ?? ''
    const path = join(archive, name)
    const kept = await readFile(path)
    const bytes = Buffer.from(kept)
    const offset = random.below(bytes.length)
    bytes[offset] = (bytes[offset] ?? 0) ^ (1 << random.below(8))
    // A link shares its bytes with others; damage is done to a copy in its place.
    await rm(path)
    await writeFile(path, bytes)
    const faults = (await verifyArchive({ dataDir }))?.faults ?? []
    // Padding and the last frame of the newest segment may be what an unclean end leaves.
    const isNewest = name.endsWith(segments.at(-1) ?? '')
    if (!isNewest) t.ok(faults.length > 0, `${name}, a bit of byte ${offset} of ${bytes.length}`)
    await rm(path)
    await writeFile(path, kept)
  }
  await rm(join(archive, 'wal', segments[1] ?? ''))
  t.match((await verifyArchive({ dataDir }))?.faults, [/archive\/wal/], 'a segment that is gone')
})
