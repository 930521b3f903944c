// The work of a license vendor: keys, a license, and a server that accepts it.
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'tap'
import { run } from '../src/program.ts'
import { silentBar } from '../src/progress-bar.ts'
import { freshDir } from './command.ts'

/** In this process, because the commands only read and write a few lines. */
async function annal(args: readonly string[]) {
  const [out, err]: [string[], string[]] = [[], []]
  const code = await run(args, { line: (text) => out.push(text), say: (text) => err.push(text), bar: silentBar })
  return { code, out: `${out.join('\n')}\n`, err: err.join('\n') }
}

test('keys are created once, licenses are issued with them, and only valid licenses are shown', {
  timeout: 240_000,
}, async (t) => {
  const dir = freshDir(t)
  const key = path.join(dir, 'private.pem')
  const made = await annal(['license', 'keys', '--out', key])
  t.equal(made.code, 0, made.err)
  const publicKey = made.out.trim()
  t.match(publicKey, /^[\w-]{43}$/)
  t.equal(statSync(key).mode & 0o777, 0o600)
  t.match(readFileSync(key, 'utf8'), /BEGIN PRIVATE KEY/)
  t.equal((await annal(['license', 'keys', '--out', key])).code, 64, 'a key is never overwritten')

  const issued = await annal(['license', 'issue', '--key', key, '--plan', 'pro', '--days', '30', '--id', 'L1'])
  t.equal(issued.code, 0, issued.err)
  const file = path.join(dir, 'license.lic')
  writeFileSync(file, issued.out)
  const shown = await annal(['license', 'show', file, '--public-key', publicKey])
  t.equal(shown.code, 0, shown.err)
  t.match(shown.out, /^L1: pro, .* for any directory\n$/)
  t.equal((await annal(['license', 'show', file])).code, 65, 'the built-in key did not issue it')
  t.equal((await annal(['license', 'issue', '--key', key, '--plan', 'a b', '--days', '1'])).code, 64)
  t.equal((await annal(['license', 'issue', '--key', file, '--plan', 'pro', '--days', '1'])).code, 64, 'no key')
  t.equal((await annal(['license', 'issue', '--key', key, '--plan', 'pro', '--days', '0'])).code, 64)
})
