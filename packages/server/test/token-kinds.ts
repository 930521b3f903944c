// Every kind of token that a server with a root token may get, and which of them each route accepts.
import type { FastifyInstance } from 'fastify'
import { type Caller, callers, requestPath } from './route-table.ts'
import type { Answer, SendOptions } from './running-app.ts'

/** Tokens by the name of their kind; undefined: no header. */
export interface Tokens {
  readonly [name: string]: string | undefined
}

/** A server with a root token. */
interface Enterprise {
  send(method: string, route: string, options?: SendOptions): Promise<Answer>
}

/** Creates the databases `mine` and `asleep`, which is not active, and tokens of every kind. */
export async function tokensOf(server: Enterprise, rootToken: string): Promise<Tokens> {
  const asRoot = async (method: string, route: string, json?: unknown): Promise<Record<string, unknown>> => {
    const answer = await server.send(method, `/api/v2${route}`, {
      headers: { authorization: rootToken },
      ...(json === undefined ? {} : { json }),
    })
    if (answer.status >= 300) throw new Error(`${method} ${route}: ${answer.text}`)
    return answer.json()
  }
  const made = async (database: string): Promise<string> =>
    String((await asRoot('POST', '/admin/dbs', { db_name: database, db_type: 'enterprise' })).db_token)
  const tokenOf = async (database: string, name: string, type: string): Promise<string> =>
    String((await asRoot('POST', `/admin/dbs/${database}/tokens`, { name, token_type: type })).db_token)
  const writer = await made('mine')
  const reader = await tokenOf('mine', 'reader', 'r')
  const revoked = await tokenOf('mine', 'revoked', 'rw')
  await asRoot('DELETE', '/admin/dbs/mine/tokens/revoked')
  const asleep = await made('asleep')
  await asRoot('POST', '/admin/dbs/asleep/deactivate')
  return {
    none: undefined,
    empty: '',
    garbage: 'null',
    'wrong root': `${rootToken}x`,
    'half of root': rootToken.slice(0, 12),
    'wrong secret': 'mine:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    'unknown database': 'other:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    'secret alone': writer.slice(5),
    'secret of another name': `asleep:${writer.slice(5)}`,
    revoked,
    'wrong impersonation': 'root/mine:wrong',
    'impersonation with the own secret': `root/${writer}`,
    root: rootToken,
    'Bearer root': `Bearer ${rootToken}`,
    writer,
    'Bearer writer': `bearer ${writer}`,
    reader,
    impersonation: `root/mine:${rootToken}`,
    'impersonation of none': `root/none:${rootToken}`,
    asleep,
    'impersonation of one asleep': `root/asleep:${rootToken}`,
  }
}

/** A body that no route accepts in full. */
export const requestBody = {
  ...{ name: 'x', db_name: 'made', db_type: 'pro' },
  ...{ fields: [], ids: ['a'], filter: [], updates: [] },
}

/** Sends every kind of token to every route. Returns what was decided otherwise than the table of routes says. */
export async function faultsOf(
  app: FastifyInstance,
  tokens: Tokens,
): Promise<{ readonly faults: readonly string[]; readonly attempts: number }> {
  const faults: string[] = []
  let attempts = 0
  for (const [route, caller] of callers) {
    const [method = '', url = ''] = route.split(' ')
    // A separate database, because an accepted request must not affect the next case.
    const path = requestPath(url.replace('dbs/:database/info', 'dbs/mine/info').replace(':database', 'made'))
    for (const [kind, token] of Object.entries(tokens)) {
      const answer = await app.inject({
        method: method as 'GET',
        url: path,
        headers: token === undefined ? {} : { authorization: token },
        ...(method === 'GET' ? {} : { payload: requestBody }),
      })
      attempts++
      const found = `${answer.statusCode} ${answer.statusCode >= 400 ? JSON.parse(answer.body).code : ''}`
      const expected = refusalFor(kind, caller)
      const refused = /^40[13] |database_not_found/.test(found) && !(kind === 'root' && found.startsWith('404'))
      const asRefused = expected === undefined ? !refused || mayLack(route, found) : found === expected
      if (!asRefused) faults.push(`${route} with ${kind}: ${found} instead of ${expected ?? 'getting in'}`)
      if (Object.values(tokens).some((one) => one && one.length > 8 && answer.body.includes(one)))
        faults.push(`${route} with ${kind} tells a token`)
    }
  }
  return { faults, attempts }
}

/** The refusal code for a kind of token on a route for `caller`; undefined if it is accepted. */
function refusalFor(token: string, caller: Caller): string | undefined {
  if (caller === 'nobody') return undefined
  if (token === 'none' || token === 'empty') return '401 authorization_required'
  if (token === 'impersonation of none') return '404 database_not_found'
  if (token.includes('asleep')) return '403 database_inactive'
  const isRoot = token.endsWith('root') && !token.startsWith('wrong') && !token.startsWith('half')
  const isMember = token.endsWith('writer') || token === 'reader' || token === 'impersonation'
  if (!isRoot && !isMember) return '401 invalid_token'
  if (caller === 'anyone') return undefined
  if (caller === 'server' || caller === 'root') return isRoot ? undefined : '403 access_denied'
  if (isRoot) return '403 access_denied'
  return caller === 'writer' && token === 'reader' ? '403 token_read_only' : undefined
}

/** The root token is accepted and finds that the database no longer exists. */
function mayLack(route: string, found: string): boolean {
  return route.includes('/admin/') && found === '404 database_not_found'
}
