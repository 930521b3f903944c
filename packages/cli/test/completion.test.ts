// `annal completion`: the scripts in real shells, with names from a running server.
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { connect, denseField, textField } from '@annal/client'
import tap, { type Test, test } from 'tap'
import { commandScript } from '../../server/test/programs.ts'
import { run } from '../src/program.ts'
import { silentBar } from '../src/progress-bar.ts'
import { annal, freshDir, serve } from './command.ts'

// A loaded machine is slow.
tap.setTimeout(900_000)

test('completion', { timeout: 600_000 }, async (t) => {
  const dir = freshDir(t)
  const { address } = await serve(t, path.join(dir, 'data'))
  await using client = connect(address)
  for (const name of ['films', 'film-notes', 'songs']) {
    await client.createCollection({ name, fields: [denseField('plot', { dimension: 2 }), textField('words')] })
  }
  // A shell finds it by its name, as a user does.
  writeFileSync(path.join(dir, 'annal'), commandScript)
  chmodSync(path.join(dir, 'annal'), 0o755)
  writeFileSync(path.join(dir, 'objects.json'), '[]')
  const environment = { PATH: `${dir}:${process.env.PATH}`, NDD_SERVER_URL: address, HOME: dir }
  await t.test('candidates', (t) => candidates(t, address))
  await t.test('in bash', (t) => inBash(t, environment))
  await t.test('in zsh', { skip: missing('zsh') }, (t) => inZsh(t, environment))
  await t.test('in fish', { skip: missing('fish') }, (t) => inFish(t, dir, environment))
})

function missing(shell: string): string | false {
  try {
    execFileSync(shell, ['-c', 'true'])
    return false
  } catch {
    return `needs ${shell}`
  }
}

async function candidates(t: Test, address: string): Promise<void> {
  const after = async (words: readonly string[], server = address) => {
    const out: string[] = []
    const say = (text: string) => t.fail(text)
    process.env.NDD_SERVER_URL = server
    const code = await run(['__complete', '--', ...words], { line: (text) => out.push(text), say, bar: silentBar })
    t.equal(code, 0)
    return out.map((line) => line.split('\t')[0])
  }
  const before = process.env.NDD_SERVER_URL
  t.teardown(() => {
    if (before === undefined) delete process.env.NDD_SERVER_URL
    else process.env.NDD_SERVER_URL = before
  })
  t.strictSame(await after(['se']), ['serve', 'search'])
  t.strictSame(await after(['backup', 'ver']), ['verify'])
  t.strictSame(await after(['search', 'fi']), ['films', 'film-notes'])
  t.strictSame(await after(['search', 'films', '--field', '']), ['plot', 'words'])
  t.strictSame(await after(['search', 'films', '--group']), ['--group-by', '--group-hits'])
  t.strictSame(await after(['import', 'films', '--format', 'np']), ['npy'])
  t.strictSame(await after(['import', 'films', 'obj']), [':files'])
  t.strictSame(await after(['completion', '']), ['bash', 'zsh', 'fish'])
  t.strictSame(await after(['ls', '--tok']), ['--token-file'], 'no option takes a token')
  t.strictSame(await after(['-x', 'nothing', 'ls', '']), [])
  t.strictSame(await after(['search', 's', '--server', address, 'x', ''], 'http://127.0.0.1:1'), [])
  t.strictSame(await after(['search', '']), ['films', 'film-notes', 'songs'])
  t.strictSame(await after(['search', ''], 'http://127.0.0.1:1'), [], 'without a server there are no names')
  t.match(await annal(['completion', 'csh']), { code: 64, err: /Allowed choices are bash, zsh, fish/ })
}

async function inBash(t: Test, environment: Record<string, string>): Promise<void> {
  const complete = (words: readonly string[]) => {
    const program = [
      'source <(annal completion bash)',
      `COMP_WORDS=(annal ${words.map((word) => `'${word}'`).join(' ')})`,
      `COMP_CWORD=${words.length}`,
      '_annal',
      `printf "%s\\n" "$\{COMPREPLY[@]}"`,
    ]
    return execFileSync('bash', ['--norc', '-c', program.join('\n')], {
      env: environment,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
      .toString()
      .trim()
      .split('\n')
  }
  t.strictSame(complete(['cou']), ['count'])
  t.strictSame(complete(['count', 'f']), ['films', 'film-notes'])
  t.strictSame(complete(['search', 'films', '--field', 'p']), ['plot'])
}

async function inZsh(t: Test, environment: Record<string, string>): Promise<void> {
  // What zsh has of its own for these prints what it is given.
  const stubs = ['compdef() { : }', '_files() { print FILES }', `_describe() { print -l -- $\{(P)2} }`]
  const complete = (words: readonly string[]) => {
    const place = [
      `words=(annal ${words.map((word) => `'${word}'`).join(' ')})`,
      `CURRENT=${words.length + 1}`,
      '_annal',
    ]
    const program = [...stubs, 'source <(annal completion zsh)', ...place]
    return execFileSync('zsh', ['-f', '-c', program.join('\n')], {
      env: environment,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
      .toString()
      .trim()
      .split('\n')
  }
  t.strictSame(complete(['count', 'son']), ['songs'])
  t.match(complete(['cou'])[0], /^count:count the objects/)
  t.strictSame(complete(['upsert', 'films', 'obj']), ['FILES'])
}

async function inFish(t: Test, dir: string, environment: Record<string, string>): Promise<void> {
  const folder = path.join(dir, '.config', 'fish', 'completions')
  mkdirSync(folder, { recursive: true })
  const { out } = await annal(['completion', 'fish'])
  writeFileSync(path.join(folder, 'annal.fish'), out)
  const complete = (line: string) =>
    execFileSync('fish', ['-c', `cd $HOME; complete -C '${line}'`], { env: environment })
      .toString()
      .trim()
      .split('\n')
      .map((found) => found.split('\t')[0])
  t.strictSame(complete('annal count s'), ['songs'])
  t.strictSame(complete('annal search films --fiel'), ['--field'])
  t.strictSame(complete('annal upsert films objec'), ['objects.json'])
}
