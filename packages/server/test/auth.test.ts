// Permissions when a token is set; they are decided before the body is read.
import net from 'node:net'
import { test } from 'tap'
import { createAttempts } from '../src/access/attempts.ts'
import { createGuard, tokenHash, tokenId } from '../src/access/auth.ts'
import { EngineSlot } from '../src/engine-slot.ts'
import { runningApp } from './running-app.ts'

const authToken = 'the-right-token-0123456789'

test('every route except health requires the token, raw or as Bearer', async (t) => {
  const running = await runningApp(t, { authToken })
  const routes = [
    ['GET', '/api/v1/stats'],
    ['GET', '/api/v1/index/list'],
    ['GET', '/api/v1/index/x/info'],
    ['POST', '/api/v1/index/create'],
    ['POST', '/api/v1/index/x/search'],
    ['POST', '/api/v1/index/x/vector/insert'],
    ['DELETE', '/api/v1/index/x/vector/a/delete'],
    ['GET', '/api/v1/users/endee/info'],
    ['GET', '/api/v2/stats'],
    ['GET', '/api/v2/info'],
    ['POST', '/api/v1/index/x/rebuild'],
    ['GET', '/api/v1/index/x/rebuild/status'],
    ['POST', '/api/v2/collection/x/rebuild'],
    ['GET', '/api/v2/collection/x/rebuild/status'],
    ['GET', '/api/v2/status/rebuild'],
    ['POST', '/api/v2/collection/x/shrink'],
  ] as const
  for (const [method, route] of routes) {
    const without = await running.send(method, route)
    t.match(
      [without.status, without.json().code],
      [401, 'authorization_required'],
      `${method} ${route} without a token`,
    )
    for (const authorization of [authToken, `Bearer ${authToken}`, `bearer ${authToken}`]) {
      t.not(
        (await running.send(method, route, { headers: { authorization } })).status,
        401,
        `${method} ${route} with the token`,
      )
    }
  }
  for (const spoof of ['x-forwarded-user', 'x-auth-token', 'sourceid', 'x-internal', 'x-db']) {
    t.equal((await running.send('GET', '/api/v1/index/list', { headers: { [spoof]: authToken } })).status, 401, spoof)
  }
  const health = await running.send('GET', '/api/v1/health')
  t.equal(health.status, 200)
  t.strictSame(Object.keys(health.json()).sort(), ['status', 'timestamp'], 'health without a token tells no details')
})

test('a wrong token is refused, and after ten of them no further one is compared', async (t) => {
  const running = await runningApp(t, { authToken })
  const ask = (authorization: string) => running.send('GET', '/api/v1/index/list', { headers: { authorization } })
  for (let i = 0; i < 10; i++) {
    const answer = await ask(i % 2 === 0 ? 'null' : `${authToken}x`)
    t.match([answer.status, answer.json().code], [401, 'invalid_token'])
    t.notMatch(answer.text, authToken)
  }
  const limited = await ask('once more')
  t.match([limited.status, limited.json().code, limited.headers.get('retry-after')], [429, 'too_many_attempts', '60'])
})

test('guesses are forgotten after a minute and counted by address', (t) => {
  let now = 0
  const attempts = createAttempts({ now: () => now })
  const guard = createGuard({ authToken, rootToken: undefined, slot: new EngineSlot(), attempts })
  for (let i = 0; i < 10; i++) t.throws(() => guard.check('wrong', '10.0.0.1'), { code: 'invalid_token' })
  t.throws(() => guard.check(authToken, '10.0.0.1'), { code: 'too_many_attempts' })
  t.doesNotThrow(() => guard.check(authToken, '10.0.0.2'))
  now = 60_001
  t.doesNotThrow(() => guard.check(authToken, '10.0.0.1'))
  t.end()
})

test('of a thousand guesses ten are compared', async (t) => {
  const running = await runningApp(t, { authToken })
  const statuses = new Map<number, number>()
  for (let i = 0; i < 1_000; i++) {
    const { statusCode } = await running.app.inject({
      url: '/api/v1/index/list',
      headers: { authorization: `guess-${i}` },
    })
    statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1)
  }
  t.strictSame(
    [...statuses],
    [
      [401, 10],
      [429, 990],
    ],
  )
  const elsewhere = await running.app.inject({
    url: '/api/v1/index/list',
    headers: { authorization: authToken },
    remoteAddress: '10.1.2.3',
  })
  t.equal(elsewhere.statusCode, 200, 'the right token from another address still works')
})

test('with authentication off the header is ignored', async (t) => {
  const running = await runningApp(t)
  for (const authorization of ['null', 'None', 'Bearer x', '']) {
    t.equal(
      (await running.send('GET', '/api/v1/index/list', { headers: { authorization } })).status,
      200,
      authorization,
    )
  }
})

test('a request without a token is refused before its body is read', async (t) => {
  const running = await runningApp(t, { authToken })
  const { port } = new URL(running.url)
  const announced = 64 * 1_048_576
  const reply = await new Promise<string>((resolve, reject) => {
    const socket = net.connect(Number(port), '127.0.0.1')
    let heard = ''
    socket.on('data', (bytes) => {
      heard += bytes.toString()
      if (!heard.endsWith('}')) return
      resolve(heard)
      socket.destroy()
    })
    socket.on('error', reject)
    const head = `POST /api/v1/index/x/vector/insert HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${announced}\r\n\r\n`
    socket.write(`${head}${'['.repeat(1_024)}`)
  })
  t.match(reply, /^HTTP\/1\.1 401 /, 'the answer came after a kilobyte of 64 MiB')
  t.notMatch(reply, /connection: close/i, 'the rest may come, so that the client gets to read')
})

test('the id of a token is the first 12 digits of its hash, and there is none without a token', async (t) => {
  t.equal(tokenId('Bearer abc'), tokenHash('abc').slice(0, 12))
  t.equal(tokenId('abc'), 'ba7816bf8f01')
  t.strictSame([tokenId(undefined), tokenId('')], [undefined, undefined])
})
