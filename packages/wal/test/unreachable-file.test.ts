// A file that the system cannot reach is not one that does not exist: a log whose TIP or segments cannot be looked up is never taken for a
// new or a shorter one.
import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { test } from 'tap'
import { nodeVfs } from '../src/index.ts'

test('names without a file do not exist, whatever the reason', async (t) => {
  const dir = t.testdir({ file: 'x' })
  await symlink('loop', join(dir, 'loop'))
  const vfs = nodeVfs()
  t.equal(await vfs.exists(join(dir, 'file')), true)
  for (const name of ['absent', 'file/below', 'loop', 'x'.repeat(5_000)])
    t.equal(await vfs.exists(join(dir, name)), false, name.slice(0, 20))
})

const isRoot = process.getuid?.() === 0

test('a file below a directory that may not be searched is not called absent', {
  skip: !isRoot && 'only root can become another user',
}, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-unreachable-'))
  t.teardown(() => rm(dir, { recursive: true }))
  await chmod(dir, 0o755)
  await mkdir(join(dir, 'closed'), { mode: 0o700 })
  await writeFile(join(dir, 'closed', 'TIP'), '')
  // As root first, because another user may not be able to read the sources.
  const program = `
    const { nodeVfs } = await import(${JSON.stringify(new URL('../src/index.ts', import.meta.url).href)})
    process.setgid(65534)
    process.setuid(65534)
    await nodeVfs().exists(process.argv[1]).then((found) => console.log(found), (error) => console.log(error.code))`
  const args = ['--conditions=annal-source', '--input-type=module', '-e', program, join(dir, 'closed', 'TIP')]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  t.equal(stdout.trim(), 'EACCES')
})
