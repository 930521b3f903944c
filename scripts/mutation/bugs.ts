// Typical bugs of databases, each as a change of one source file, with the test that must notice it.

export interface PlantedBug {
  readonly name: string
  /** Paths from the top of the repository. */
  readonly caughtBy: string
  readonly file: string
  /** It must occur exactly once. */
  readonly find: string
  readonly put: string
}

const engine = 'packages/engine/src'
const tests = 'packages/engine/test'
const essentials = `${tests}/essentials.test.ts`

export const plantedBugs: readonly PlantedBug[] = [
  {
    name: 'a commit is acknowledged before it is durable',
    caughtBy: essentials,
    file: `${engine}/engine/life.ts`,
    find: "fsync: options.fsync ?? 'always'",
    put: "fsync: options.fsync ?? 'none'",
  },
  {
    name: 'a record that could not be applied is acknowledged',
    caughtBy: `${tests}/commit.test.ts`,
    file: `${engine}/commit.ts`,
    find: '        this.#onBroken(error as Error)\n        throw error\n',
    put: '        this.#onBroken(error as Error)\n        return { lsn, durable, result: undefined as T }\n',
  },
  {
    name: 'a record counts as applied before the ones before it',
    caughtBy: `${tests}/commit.test.ts`,
    file: `${engine}/commit.ts`,
    find: '        this.#advance()\n',
    put: '        this.#lsnApplied = Math.max(this.#lsnApplied, lsn)\n',
  },
  {
    name: 'time in the log follows a clock that is set back',
    caughtBy: `${tests}/commit.test.ts`,
    file: `${engine}/commit.ts`,
    find: 'this.#timeMs = Math.max(this.#timeMs, this.#clock.now())',
    put: 'this.#timeMs = this.#clock.now()',
  },
  {
    name: 'the id of an object that is written again leads to the old one',
    caughtBy: essentials,
    file: `${engine}/replica/object-store.ts`,
    find: '    else this.#ids.replace(id, ordinal)\n',
    put: '',
  },
  {
    name: 'a deleted object stays in the filter index',
    caughtBy: essentials,
    file: `${engine}/replica/prepare-event.ts`,
    find: '  parts.filters.remove(ordinal, indexedValues(filter))\n  parts.ordinals.retire',
    put: '  parts.ordinals.retire',
  },
  {
    name: '$lt includes its bound',
    caughtBy: essentials,
    file: `${engine}/filter/operators.ts`,
    find: '$lt: (key, operand, place) => below(key, operand, place, true)',
    put: '$lt: (key, operand, place) => below(key, operand, place, false)',
  },
  {
    name: 'postings of a reused ordinal are not removed from sparse lists',
    caughtBy: essentials,
    file: `${engine}/replica/prepare-event.ts`,
    find: '    await field.purge(version, rows)\n',
    put: '    void field\n',
  },
  {
    name: 'members of a multi-vector object stay with its ordinal',
    caughtBy: essentials,
    file: `${engine}/replica/prepare-event.ts`,
    find: '    for (const originals of parts.originals) originals?.release(ordinal)\n',
    put: '',
  },
  {
    name: 'a pin is released with another one of its version',
    caughtBy: `${tests}/replica/pins.test.ts`,
    file: `${engine}/replica/pins.ts`,
    find: 'if (left > 0 || version === this.#last) this.#counts.set(version, left)',
    put: 'if (version === this.#last) this.#counts.set(version, 0)',
  },
  {
    name: 'vectors of a cosine field are not normalized',
    caughtBy: essentials,
    file: `${engine}/model/vector-form.ts`,
    find: 'if (norm === 0 || isUnitLength(norm)) return',
    put: 'if (norm >= 0) return',
  },
  {
    name: 'a vector is read from another chunk of its field',
    caughtBy: `${tests}/originals/originals.test.ts`,
    file: `${engine}/originals/read-originals.ts`,
    find: 'await readRun(chunks, chunk, row, into)',
    put: 'await readRun(chunks, 0, row, into)',
  },
  {
    name: 'a checkpoint claims records that it does not have',
    caughtBy: essentials,
    file: `${engine}/engine/checkpoints.ts`,
    find: 'lsn: committer.lsnApplied,',
    // One may be a marker of the log.
    put: 'lsn: committer.lsnApplied + 2,',
  },
  {
    name: 'a checkpoint gets its name before its folder is durable',
    caughtBy: `${tests}/snapshot/checkpoint.test.ts`,
    file: `${engine}/snapshot/write-checkpoint.ts`,
    find: '  await vfs.syncDirectory(temporary)\n',
    put: '',
  },
  {
    name: 'one checkpoint is kept instead of two',
    caughtBy: `${tests}/snapshot/checkpoint-removal.test.ts`,
    file: `${engine}/snapshot/remove-checkpoints.ts`,
    find: 'const keptCount = 2',
    put: 'const keptCount = 1',
  },
  {
    name: 'a snapshot is loaded without a look at its checksums',
    caughtBy: essentials,
    file: `${engine}/snapshot/snapshot-source.ts`,
    find: 'if (sumOf(into, BigInt(number)) !== view.getBigUint64(8, true))',
    put: 'if (sumOf(into, BigInt(number)) === 0n)',
  },
  {
    name: 'a cut contains bytes that were written after its moment',
    caughtBy: `${tests}/memory/column.test.ts`,
    file: `${engine}/memory/chunks.ts`,
    find: '    for (const cut of this.#cuts) cut.keep(chunk * this.chunkBytes + from, bytes)\n',
    put: '',
  },
  {
    name: 'recovery skips the last record',
    caughtBy: `${tests}/recovery-records.test.ts`,
    file: `${engine}/recovery.ts`,
    find: '  const event = decodeEvent(record)\n  target.applied',
    put: '  if (record.lsn === outlook.lsnLast) return\n  const event = decodeEvent(record)\n  target.applied',
  },
  {
    name: 'recovery applies records again that a snapshot has',
    caughtBy: `${tests}/recovery-records.test.ts`,
    file: `${engine}/recovery.ts`,
    find: 'if (!replica || lsn <= replica.lsnApplied) return',
    put: 'if (!replica || lsn < replica.lsnApplied) return',
  },
  {
    name: 'writers enter while the gate is held',
    caughtBy: `${tests}/replica/write-gate.test.ts`,
    file: `${engine}/replica/write-gate.ts`,
    find: 'while (this.#held > 0 || this.#full())',
    put: 'while (this.#full())',
  },
  {
    name: 'a cut is taken before everything appended is applied',
    caughtBy: `${tests}/replica/write-gate.test.ts`,
    file: `${engine}/replica/write-gate.ts`,
    find: '      await this.#tail\n',
    put: '',
  },
  {
    name: 'a rebuild does not hold writers',
    caughtBy: essentials,
    file: `${engine}/collection/rebuilder.ts`,
    find: 'collection.gate.hold(() => this.#rebuildAndCommit(fields(), collection, claim))',
    put: 'this.#rebuildAndCommit(fields(), collection, claim)',
  },
  {
    name: 'room is not released when a write is applied',
    caughtBy: essentials,
    file: `${engine}/collection/writer.ts`,
    find: 'this.#reserved = added(this.#reserved, room, -1)',
    put: 'this.#reserved = wanted',
  },
  {
    name: 'a clone shares the file that its source appends to',
    caughtBy: essentials,
    file: `${engine}/backup/image/load-image.ts`,
    find: 'if (full) await linkOrCopy(vfs, from, path)',
    put: 'if (full || bytes > 0) await linkOrCopy(vfs, from, path)',
  },
  {
    name: 'a restore of the past contains newer records',
    caughtBy: essentials,
    file: `${engine}/backup/past.ts`,
    find: '{ from: start.lsn + 1, to: lsn }',
    put: '{ from: start.lsn + 1, to: lsnEnd }',
  },
  {
    name: 'a restore of a record ends one record earlier',
    caughtBy: essentials,
    file: `${engine}/backup/past.ts`,
    find: 'moment.lsn <= end.lsn) return moment.lsn\n',
    put: 'moment.lsn <= end.lsn) return moment.lsn - 1\n',
  },
  {
    name: 'a restore of a time omits the records of that millisecond',
    caughtBy: essentials,
    file: `${engine}/backup/past.ts`,
    find: 'if (peekEvent(record.payload).timeMs > timeMs) return lsn',
    put: 'if (peekEvent(record.payload).timeMs >= timeMs) return lsn',
  },
  {
    name: 'a check of the directory skips a file of each snapshot',
    caughtBy: essentials,
    file: `${engine}/verify/check-checkpoints.ts`,
    find: '...manifest.collections.flatMap(snapshotFiles),',
    put: '...manifest.collections.flatMap((collection) => snapshotFiles(collection).slice(1)),',
  },
  {
    name: 'a deleted token still opens its database',
    caughtBy: essentials,
    file: `${engine}/catalog/catalog.ts`,
    find: '    this.#tokensByHash.delete(token.hash)\n',
    put: '',
  },
  {
    name: 'a license never ends',
    caughtBy: 'packages/server/test/licensing.test.ts',
    file: 'packages/server/src/license/licensing.ts',
    find: '&& nowMs < endMs',
    put: '',
  },
]
