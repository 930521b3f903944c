// `annal shell`: on a terminal and in a pipe, against a running server.
import { readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import tap, { test } from 'tap'
import { wordsOf } from '../src/shell-words.ts'
import { freshDir, serve, start } from './command.ts'
import { noPty, onTerminal } from './pty.ts'

tap.setTimeout(300_000)

test('words have quotes, and JSON needs none', (t) => {
  t.strictSame(wordsOf(`search films --vector [1, 2] --filter [{"a": "] \\" x"}]`), [
    'search',
    'films',
    '--vector',
    '[1, 2]',
    '--filter',
    '[{"a": "] \\" x"}]',
  ])
  t.strictSame(wordsOf(`get films 'a b' "c \\" d" e''f`), ['get', 'films', 'a b', 'c " d', 'ef'])
  for (const open of ['upsert x {"a": [1', "get x 'a", 'get x "a', 'x [']) t.equal(wordsOf(open), undefined, open)
  t.strictSame(wordsOf('upsert x {"a":\n1}'), ['upsert', 'x', '{"a":\n1}'])
  t.strictSame(wordsOf('  '), [])
  t.end()
})

test('commands of a pipe end at the first that fails', async (t) => {
  const { address } = await serve(t, path.join(freshDir(t), 'data'))
  const piped = async (text: string) => {
    const { child, ended } = start(['shell'], { NDD_SERVER_URL: address })
    child.stdin?.end(text)
    return ended
  }
  const object = 'upsert films {"id": "a",\n "fields": {"v": [1, 2]}}\n'
  t.strictSame(await piped(`# films\ncreate films --vector v=2\n${object}count films\n`), {
    code: 0,
    out: 'films created\n1 object stored\n1\n',
    err: '',
  })
  t.match(await piped('count nothing\ncount films\n'), { code: 76, out: '', err: /collection_not_found/ })
  t.match(await piped('rm films\n'), { code: 64, err: /add --yes/ })
  t.match(await piped('serve\n'), { code: 64, err: /unknown command serve/ })
  t.match(await piped('count films -s http://127.0.0.1:1\n'), { code: 64, err: /unknown option '-s'/ })
  t.match(await piped('get films {'), { code: 64, err: /inside a quote or a bracket/ })
})

test('on a terminal it completes, asks, and keeps a history', { skip: noPty }, async (t) => {
  const dir = freshDir(t)
  const { address } = await serve(t, path.join(dir, 'data'))
  const history = path.join(dir, 'history')
  const shell = onTerminal(['shell'], { NDD_SERVER_URL: address, ANNAL_HISTORY: history })
  await shell.until(/annal> /)
  shell.type('create films --vector v=2\r')
  await shell.until(/films created/)
  shell.type('upsert films {"id":"a",\r')
  await shell.until(/\.\.\.> /)
  shell.type('"fields":{"v":[1,2]}}\r')
  await shell.until(/1 object stored/)
  shell.type('count fil\t')
  await shell.until(/ms /)
  shell.type('\r')
  await shell.until(/\n1\r/)
  shell.type('rm films a\r')
  await shell.until(/Continue\? \[y\/N\] /)
  shell.type('y\r')
  await shell.until(/1 object deleted/)
  shell.type('count nothing\r')
  await shell.until(/collection_not_found/)
  shell.type('exit\r')
  t.equal(await shell.ended, 0)
  t.match(readFileSync(history, 'utf8'), 'create films --vector v=2\nupsert films {"id":"a", "fields":{"v":[1,2]}}\n')
  t.equal(statSync(history).mode & 0o777, 0o600)
})

test('Ctrl-C ends only the running command', { skip: noPty }, async (t) => {
  // A server that answers the first request, and then nothing.
  let requests = 0
  const server = createServer((_request, reply) => {
    requests += 1
    if (requests === 1) reply.writeHead(200, { 'Content-Type': 'application/json' }).end('{"collections":[]}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const environment = {
    NDD_SERVER_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ANNAL_HISTORY: path.join(freshDir(t), 'history'),
  }
  const shell = onTerminal(['shell'], environment)
  await shell.until(/annal> /)
  shell.type('count films\r')
  await new Promise<void>((resolve) => {
    server.once('request', () => resolve())
  })
  shell.type('\u0003')
  await shell.until(/interrupted/)
  await shell.until(/annal> /)
  shell.type('half a line\u0003')
  await shell.until(/annal> /)
  shell.type('\u0004')
  t.equal(await shell.ended, 0)
})
