// Files that share descriptors behave as files with their own, however few descriptors there are. No failure that a
// sync reported or would have reported gets lost.
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'tap'
import { nodeVfs, OpenFiles, readFully, type Vfs, type VfsFile, writeFully } from '../src/index.ts'
import { chosenSeed, type DiskOperation, type Fault, faultVfs, seededRandom, vfsSuite } from '../src/testing/index.ts'

interface Teardown {
  teardown(fn: () => void): void
}

function directory(t: Teardown): string {
  const dir = mkdtempSync(join(tmpdir(), 'annal-open-files-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

const bytesOf = (text: string) => Buffer.from(text)

async function textOf(file: VfsFile): Promise<string> {
  const bytes = Buffer.alloc(await file.size())
  return bytes.subarray(0, await readFully(file, bytes, 0)).toString()
}

/** Descriptors of this process below the directory. */
function descriptorsIn(dir: string): number | undefined {
  try {
    return readdirSync('/proc/self/fd').filter((name) => {
      try {
        return readlinkSync(`/proc/self/fd/${name}`).startsWith(dir)
      } catch {
        return false
      }
    }).length
  } catch {
    return undefined
  }
}

for (const max of [1, 2, 100]) {
  for (const { name, run } of vfsSuite) {
    test(`of ${max} descriptors: ${name}`, async (t) => {
      const files = new OpenFiles(max)
      await run(files.vfs(nodeVfs()), directory(t))
      t.equal(files.taken, 0, 'every descriptor was released')
    })
  }
}

test('more files than descriptors keep what is written to each, and never have more descriptors', async (t) => {
  const dir = directory(t)
  const [files, count] = [new OpenFiles(5), 40]
  const vfs = files.vfs(nodeVfs())
  const open = await Promise.all(Array.from({ length: count }, (_, i) => vfs.open(join(dir, `${i}`), 'create')))
  for (let round = 0; round < 3; round++)
    for (const [i, file] of open.entries()) {
      await writeFully(file, bytesOf(`${i}:${round};`), round * 10)
      t.ok((descriptorsIn(dir) ?? 0) <= 5)
    }
  t.ok(files.taken <= 5)
  for (const [i, file] of open.entries()) t.match(await textOf(file), new RegExp(`^${i}:0;\\0*${i}:1;\\0*${i}:2;$`))
  // Many parallel calls may use more descriptors for a moment, but none afterwards.
  await Promise.all(open.map((file) => textOf(file)))
  for (const file of open) await file.close()
  t.equal(files.taken, 0)
  t.equal(descriptorsIn(dir) ?? 0, 0)
})

test('the least recently used file gives its descriptor up', async (t) => {
  const dir = directory(t)
  const opened: string[] = []
  const inner = nodeVfs()
  const counting: Vfs = {
    ...inner,
    open(path, mode) {
      opened.push(path.slice(-1))
      return inner.open(path, mode)
    },
  }
  const vfs = new OpenFiles(2).vfs(counting)
  const [a, b] = [await vfs.open(join(dir, 'a'), 'create'), await vfs.open(join(dir, 'b'), 'create')]
  await a.size()
  const c = await vfs.open(join(dir, 'c'), 'create')
  await a.size()
  t.same(opened, ['a', 'b', 'c'], 'a was used after b')
  await b.size()
  t.same(opened, ['a', 'b', 'c', 'b'])
  await a.size()
  t.same(opened, ['a', 'b', 'c', 'b'], 'c was used before a')
  for (const file of [a, b, c]) await file.close()
})

/** A disk that records its calls and fails on request. */
function watched(dir: string) {
  const calls: string[] = []
  let failing: ((operation: DiskOperation) => Fault | undefined) | undefined
  const vfs = faultVfs(nodeVfs(), (operation) => {
    calls.push(`${operation.call} ${operation.path.slice(dir.length + 1)}`)
    return failing?.(operation)
  })
  const failWhen = (plan: typeof failing) => {
    failing = plan
  }
  return { calls, vfs, failWhen }
}

test('a written file is synced before its descriptor closes, and an unwritten one is only closed', async (t) => {
  const dir = directory(t)
  const { calls, vfs } = watched(dir)
  const shared = new OpenFiles(1).vfs(vfs)
  const a = await shared.open(join(dir, 'a'), 'create')
  await a.write(bytesOf('a'), 0)
  calls.length = 0
  const b = await shared.open(join(dir, 'b'), 'create')
  t.same(calls, ['datasync a', 'close a', 'open b'])
  calls.length = 0
  t.equal(await textOf(a), 'a')
  t.same(calls.slice(0, 3), ['close b', 'open a', 'size a'])
  calls.length = 0
  await b.size()
  t.same(calls, ['close a', 'open b', 'size b'], 'it was synced already')
  await a.close()
  await b.close()
})

for (const call of ['datasync', 'close'] as const)
  test(`a ${call} that fails as the descriptor closes is reported by every later datasync, once the file is used again`, async (t) => {
    const dir = directory(t)
    const { vfs, failWhen } = watched(dir)
    const shared = new OpenFiles(1).vfs(vfs)
    const a = await shared.open(join(dir, 'a'), 'create')
    await a.write(bytesOf('a'), 0)
    failWhen((operation) => (operation.call === call && operation.path.endsWith('a') ? { errno: 'EIO' } : undefined))
    const b = await shared.open(join(dir, 'b'), 'create')
    failWhen(undefined)
    t.equal(await textOf(a), 'a', 'it can still be read')
    await t.rejects(a.datasync(), { code: 'EIO' })
    await a.write(bytesOf('b'), 0)
    await t.rejects(a.datasync(), { code: 'EIO' })
    await b.datasync()
    await a.close()
    await b.close()
  })

test('a datasync that failed stays failed after the descriptor was reopened', async (t) => {
  const dir = directory(t)
  const { vfs, failWhen } = watched(dir)
  const shared = new OpenFiles(1).vfs(vfs)
  const a = await shared.open(join(dir, 'a'), 'create')
  await a.write(bytesOf('a'), 0)
  failWhen(({ call }) => (call === 'datasync' ? { errno: 'EIO' } : undefined))
  await t.rejects(a.datasync(), { code: 'EIO' })
  failWhen(undefined)
  const b = await shared.open(join(dir, 'b'), 'create')
  await t.rejects(a.datasync(), { code: 'EIO' })
  await a.close()
  await b.close()
})

test('a write that ends after a sync began does not count as synced', async (t) => {
  const dir = directory(t)
  const { calls, vfs } = watched(dir)
  const gate = Promise.withResolvers<void>()
  let slow = true
  const late: Vfs = {
    ...vfs,
    open: async (path, mode) => {
      const file = await vfs.open(path, mode)
      return {
        read: (bytes, position) => file.read(bytes, position),
        datasync: () => file.datasync(),
        truncate: (size) => file.truncate(size),
        size: () => file.size(),
        close: () => file.close(),
        async write(bytes, position) {
          if (slow) await gate.promise
          return file.write(bytes, position)
        },
      }
    },
  }
  const shared = new OpenFiles(1).vfs(late)
  const a = await shared.open(join(dir, 'a'), 'create')
  const writing = a.write(bytesOf('a'), 0)
  await a.datasync()
  slow = false
  gate.resolve()
  await writing
  calls.length = 0
  const b = await shared.open(join(dir, 'b'), 'create')
  t.same(calls.slice(0, 2), ['datasync a', 'close a'])
  await a.close()
  await b.close()
})

test('names that change under files without a descriptor', async (t) => {
  const dir = directory(t)
  const vfs = new OpenFiles(1).vfs(nodeVfs())
  const made = async (name: string) => {
    const file = await vfs.open(join(dir, name), 'create')
    await file.write(bytesOf(name), 0)
    return file
  }
  await vfs.makeDirectory(join(dir, 'x'))
  const names = ['a', 'b', 'c', 'd', 'x/e'] as const
  const [a, b, c, d, e] = [await made('a'), await made('b'), await made('c'), await made('d'), await made('x/e')]
  await vfs.rename(join(dir, 'a'), join(dir, 'b'))
  await vfs.remove(join(dir, 'c'))
  await vfs.rename(join(dir, 'x'), join(dir, 'y'))
  const again = await made('c')
  await vfs.removeTree(join(dir, 'y'))
  for (const [i, file] of [a, b, c, d, e].entries()) t.equal(await textOf(file), names[i])
  t.equal(await textOf(again), 'c')
  t.same((await vfs.list(dir)).sort(), ['b', 'c', 'd'])
  for (const file of [a, b, c, d, e, again]) await file.close()
  t.equal(descriptorsIn(dir) ?? 0, 0)
})

test('a process without descriptors gets those of idle files, and an error where there are none', async (t) => {
  const dir = directory(t)
  let left = 3
  const inner = nodeVfs()
  /** A system with three descriptors. */
  const poor: Vfs = {
    ...inner,
    async open(path, mode) {
      if (left === 0) throw Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' })
      left--
      const file = await inner.open(path, mode)
      return {
        write: (bytes, position) => file.write(bytes, position),
        read: (bytes, position) => file.read(bytes, position),
        datasync: () => file.datasync(),
        truncate: (size) => file.truncate(size),
        size: () => file.size(),
        close: () => file.close().finally(() => left++),
      }
    },
  }
  const files = new OpenFiles(100)
  const vfs = files.vfs(poor)
  const open: VfsFile[] = []
  for (let i = 0; i < 10; i++) open.push(await vfs.open(join(dir, `${i}`), 'create'))
  t.ok(files.taken <= 3)
  const others = [await files.openWithRetry(() => poor.open(join(dir, 'x'), 'create'))]
  for (const name of ['y', 'z']) others.push(await files.openWithRetry(() => poor.open(join(dir, name), 'create')))
  t.equal(files.taken, 0)
  await t.rejects(
    files.openWithRetry(() => poor.open(join(dir, 'w'), 'create')),
    { code: 'EMFILE' },
  )
  await t.rejects(open[0]?.size() as Promise<number>, { code: 'EMFILE' })
  for (const file of others) await file.close()
  t.equal(await open[0]?.size(), 0, 'and it works again afterwards')
  for (const file of open) await file.close()
})

test('random calls on many files, all at once, leave what the same calls on plain files leave', async (t) => {
  const seed = chosenSeed()
  t.comment(`seed ${seed}`)
  const random = seededRandom(seed)
  for (let round = 0; round < 10; round++) {
    const [dir, plainDir] = [directory(t), directory(t)]
    const files = new OpenFiles(1 + random.below(4))
    const [vfs, plain] = [files.vfs(nodeVfs()), nodeVfs()]
    const pairs = await Promise.all(
      Array.from({ length: 8 }, async (_, i) => ({
        shared: await vfs.open(join(dir, `${i}`), 'create'),
        own: await plain.open(join(plainDir, `${i}`), 'create'),
      })),
    )
    const step = async ({ shared, own }: (typeof pairs)[number], kind: number, step: number): Promise<void> => {
      const bytes = bytesOf(`${step}-${kind}`)
      if (kind < 4) t.equal(await shared.write(bytes, step), await own.write(bytes, step))
      else if (kind === 4) await Promise.all([shared.truncate(step), own.truncate(step)])
      else if (kind === 5) await Promise.all([shared.datasync(), own.datasync()])
      else if (kind === 6) t.equal(await shared.size(), await own.size())
      else t.equal(await textOf(shared), await textOf(own))
    }
    // Calls on one file run one after another, as its users make them; different files run in parallel.
    await Promise.all(
      pairs.map(async (pair) => {
        const plans = Array.from({ length: 30 }, () => [random.below(8), random.below(100)] as const)
        for (const [kind, index] of plans) await step(pair, kind, index)
      }),
    )
    for (const { shared, own } of pairs) {
      t.equal(await textOf(shared), await textOf(own))
      await Promise.all([shared.close(), own.close()])
    }
    t.equal(files.taken, 0)
  }
})
