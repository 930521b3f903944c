// What every Vfs must do. Each case gets an empty directory on the Vfs under test.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { Vfs } from '../vfs.ts'
import { createWhole, readFully, readSmall, writeFully } from '../whole-file.ts'

/** One test of the suite. */
export interface VfsCase {
  /** A sentence about behavior. */
  readonly name: string
  readonly run: (vfs: Vfs, dir: string) => Promise<void>
}

const bytesOf = (text: string) => Buffer.from(text)

async function put(vfs: Vfs, path: string, text: string): Promise<void> {
  const file = await vfs.open(path, 'create')
  await writeFully(file, bytesOf(text), 0)
  await file.datasync()
  await file.close()
}

async function textAt(vfs: Vfs, path: string): Promise<string> {
  return (await readSmall(vfs, path, 1024)).toString()
}

const coded = (code: string) => (error: unknown) => error instanceof Error && 'code' in error && error.code === code

/** The tests that every Vfs must pass. */
export const vfsSuite: readonly VfsCase[] = [
  {
    name: 'a file returns the bytes that were written, at their positions',
    async run(vfs, dir) {
      const file = await vfs.open(join(dir, 'a'), 'create')
      await writeFully(file, bytesOf('hello'), 0)
      await writeFully(file, bytesOf('J'), 0)
      await writeFully(file, bytesOf('!'), 7)
      assert.equal(await file.size(), 8)
      const back = Buffer.alloc(10)
      assert.equal(await readFully(file, back, 0), 8)
      assert.deepEqual(back.subarray(0, 8), Buffer.from('Jello\0\0!'))
      assert.equal(await file.read(back, 8), 0)
      await file.close()
    },
  },
  {
    name: 'create refuses a name that exists, and the other modes one that does not',
    async run(vfs, dir) {
      await put(vfs, join(dir, 'a'), 'a')
      await assert.rejects(vfs.open(join(dir, 'a'), 'create'), coded('EEXIST'))
      await assert.rejects(vfs.open(join(dir, 'b'), 'read'), coded('ENOENT'))
      await assert.rejects(vfs.open(join(dir, 'b'), 'write'), coded('ENOENT'))
    },
  },
  {
    name: 'a file opened for reading cannot be written',
    async run(vfs, dir) {
      await put(vfs, join(dir, 'a'), 'a')
      const file = await vfs.open(join(dir, 'a'), 'read')
      await assert.rejects(file.write(bytesOf('b'), 0), coded('EBADF'))
      await file.close()
      assert.equal(await textAt(vfs, join(dir, 'a')), 'a')
    },
  },
  {
    name: 'writing takes a copy: the buffer may be used again once the write has returned',
    async run(vfs, dir) {
      const file = await vfs.open(join(dir, 'a'), 'create')
      const buffer = bytesOf('one')
      await writeFully(file, buffer, 0)
      buffer.fill('x')
      await file.close()
      assert.equal(await textAt(vfs, join(dir, 'a')), 'one')
    },
  },
  {
    name: 'truncate makes a file shorter, and longer with zeros',
    async run(vfs, dir) {
      const file = await vfs.open(join(dir, 'a'), 'create')
      await writeFully(file, bytesOf('abcdef'), 0)
      await file.truncate(2)
      assert.equal(await file.size(), 2)
      await file.truncate(4)
      await file.close()
      assert.equal(await textAt(vfs, join(dir, 'a')), 'ab\0\0')
    },
  },
  {
    name: 'rename replaces what has the new name',
    async run(vfs, dir) {
      await put(vfs, join(dir, 'a'), 'new')
      await put(vfs, join(dir, 'b'), 'old')
      await vfs.rename(join(dir, 'a'), join(dir, 'b'))
      assert.equal(await textAt(vfs, join(dir, 'b')), 'new')
      assert.deepEqual(await vfs.list(dir), ['b'])
      await assert.rejects(vfs.rename(join(dir, 'a'), join(dir, 'c')), coded('ENOENT'))
    },
  },
  {
    name: 'an open file outlives its name',
    async run(vfs, dir) {
      await put(vfs, join(dir, 'a'), 'still')
      const file = await vfs.open(join(dir, 'a'), 'read')
      await vfs.remove(join(dir, 'a'))
      assert.equal(await vfs.exists(join(dir, 'a')), false)
      const back = Buffer.alloc(5)
      await readFully(file, back, 0)
      await file.close()
      assert.equal(back.toString(), 'still')
      await assert.rejects(vfs.remove(join(dir, 'a')), coded('ENOENT'))
    },
  },
  {
    name: 'a link is a second name for the same bytes, and never replaces one',
    async run(vfs, dir) {
      await put(vfs, join(dir, 'a'), 'same')
      await vfs.link(join(dir, 'a'), join(dir, 'b'))
      await vfs.remove(join(dir, 'a'))
      assert.equal(await textAt(vfs, join(dir, 'b')), 'same')
      await put(vfs, join(dir, 'a'), 'other')
      await assert.rejects(vfs.link(join(dir, 'a'), join(dir, 'b')), coded('EEXIST'))
    },
  },
  {
    name: 'a directory is made with its parents, lists its names, moves and is removed with its content',
    async run(vfs, dir) {
      const deep = join(dir, 'x', 'y')
      await vfs.makeDirectory(deep)
      await vfs.makeDirectory(deep)
      await put(vfs, join(deep, 'a'), 'a')
      await put(vfs, join(deep, 'b'), 'b')
      assert.deepEqual((await vfs.list(deep)).sort(), ['a', 'b'])
      await vfs.rename(join(dir, 'x'), join(dir, 'z'))
      assert.equal(await textAt(vfs, join(dir, 'z', 'y', 'a')), 'a')
      await vfs.removeTree(join(dir, 'z'))
      await vfs.removeTree(join(dir, 'z'))
      assert.deepEqual(await vfs.list(dir), [])
      await assert.rejects(vfs.list(deep), coded('ENOENT'))
    },
  },
  {
    name: 'directories can be synced, and the free space read',
    async run(vfs, dir) {
      await vfs.syncDirectory(dir)
      assert.ok((await vfs.freeBytes(dir)) > 0)
      await assert.rejects(vfs.syncDirectory(join(dir, 'none')), coded('ENOENT'))
    },
  },
  {
    name: 'a whole file appears under its name, with no temporary one left',
    async run(vfs, dir) {
      await put(vfs, join(dir, 'a.tmp'), 'left over')
      await createWhole(vfs, join(dir, 'a'), (file) => writeFully(file, bytesOf('whole'), 0))
      await createWhole(vfs, join(dir, 'a'), (file) => writeFully(file, bytesOf('again'), 0))
      assert.equal(await textAt(vfs, join(dir, 'a')), 'again')
      assert.deepEqual(await vfs.list(dir), ['a'])
    },
  },
]
