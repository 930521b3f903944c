// The routes that the server registers, and who may call which according to the contract. access.test.ts fails for a route that is in only
// one of the two.
import { createApp, readConfig, slotWith } from '../src/index.ts'
import type { RunningApp } from './running-app.ts'

/** Defined separately, because the test must not use the code that it tests. */
export type Caller = 'nobody' | 'anyone' | 'server' | 'root' | 'reader' | 'searcher' | 'writer'

const v1 = {
  'GET /health': 'nobody',
  'GET /stats': 'anyone',
  'GET /users/:user/info': 'reader',
  'GET /users/:user/type': 'reader',
  'POST /index/create': 'writer',
  'GET /index/list': 'reader',
  'GET /index/:name/info': 'reader',
  'DELETE /index/:name/delete': 'writer',
  'POST /index/:name/search': 'searcher',
  'POST /index/:name/vector/insert': 'writer',
  'POST /index/:name/vector/get': 'reader',
  'DELETE /index/:name/vector/*': 'writer',
  'DELETE /index/:name/vectors/delete': 'writer',
  'POST /index/:name/filters/update': 'writer',
  'POST /index/:name/rebuild': 'writer',
  'GET /index/:name/rebuild/status': 'reader',
  'POST /index/:name/backup': 'writer',
  'GET /backups': 'reader',
  'GET /backups/active': 'reader',
  'GET /backups/:backup/info': 'reader',
  'GET /backups/:backup/download': 'reader',
  'POST /backups/upload': 'writer',
  'POST /backups/:backup/restore': 'writer',
  'DELETE /backups/:backup': 'writer',
} satisfies Record<string, Caller>

const v2 = {
  'GET /health': 'nobody',
  'GET /stats': 'anyone',
  'GET /info': 'anyone',
  'GET /providers': 'anyone',
  'GET /configuration': 'server',
  'GET /cluster': 'server',
  'GET /cluster/digests': 'server',
  'POST /cluster/digests': 'server',
  'POST /cluster/step-down': 'server',
  'DELETE /cluster/nodes/:node': 'server',
  'POST /cluster/nodes/:node/admit': 'server',
  'GET /openapi.json': 'anyone',
  'GET /logs': 'reader',
  'POST /admin/dbs': 'root',
  'GET /admin/dbs': 'root',
  'GET /dbs/:database/info': 'anyone',
  'DELETE /admin/dbs/:database': 'root',
  'POST /admin/dbs/:database/activate': 'root',
  'POST /admin/dbs/:database/deactivate': 'root',
  'PUT /admin/dbs/:database/type': 'root',
  'GET /admin/dbs/:database/collection': 'root',
  'GET /admin/collection': 'root',
  'DELETE /admin/dbs/:database/collection/:name': 'root',
  'POST /admin/dbs/:database/tokens': 'root',
  'GET /admin/dbs/:database/tokens': 'root',
  'DELETE /admin/dbs/:database/tokens/:name': 'root',
  'POST /license/generate': 'server',
  'POST /license/validate': 'nobody',
  'POST /tokens': 'writer',
  'GET /tokens': 'reader',
  'DELETE /tokens/:name': 'writer',
  'POST /collection': 'writer',
  'GET /collection': 'reader',
  'GET /collection/:name': 'reader',
  'DELETE /collection/:name': 'writer',
  'POST /collection/:name/objects': 'writer',
  'PATCH /collection/:name/objects': 'writer',
  'POST /collection/:name/objects/query': 'reader',
  'POST /collection/:name/objects/count': 'reader',
  'POST /collection/:name/objects/scroll': 'reader',
  'DELETE /collection/:name/objects/*': 'writer',
  'DELETE /collection/:name/objects': 'writer',
  'POST /collection/:name/filters': 'writer',
  'POST /collection/:name/search': 'searcher',
  'POST /collection/:name/search/batch': 'searcher',
  'POST /collection/:name/facets': 'reader',
  'GET /collection/:name/recall': 'searcher',
  'GET /collection/:name/calibrations': 'reader',
  'POST /collection/:name/calibrate': 'searcher',
  'GET /collection/:name/objects/:id/field/:field/neighbors': 'reader',
  'GET /collection/:name/objects/:id/field/:field/links': 'reader',
  'POST /collection/:name/fields': 'writer',
  'POST /collection/:name/defaults': 'writer',
  'POST /collection/:name/rebuild': 'writer',
  'GET /collection/:name/rebuild/status': 'reader',
  'GET /status/rebuild': 'reader',
  'GET /status/asof': 'reader',
  'POST /collection/:name/vacuum': 'writer',
  'POST /collection/:name/shrink': 'writer',
  'POST /collection/:name/backup': 'writer',
  'POST /collection/:name/clone': 'writer',
  'GET /alias': 'reader',
  'PUT /alias/:name': 'writer',
  'DELETE /alias/:name': 'writer',
  'GET /collection/:name/branches': 'reader',
  'POST /collection/:name/branch': 'writer',
  'POST /collection/:name/promote': 'writer',
  'POST /collection/:name/restore': 'writer',
  'GET /collection/:name/history': 'reader',
  'GET /collection/:name/diff': 'reader',
  'POST /collection/:name/undo': 'writer',
  'GET /schedules': 'reader',
  'PUT /collection/:name/schedule': 'writer',
  'DELETE /collection/:name/schedule': 'writer',
  'GET /changes': 'reader',
  'GET /cursors': 'reader',
  'PUT /cursors/:name': 'writer',
  'DELETE /cursors/:name': 'writer',
  'GET /log/events': 'reader',
  'GET /log/activity': 'reader',
  'GET /status/backup': 'reader',
  'GET /status/restore': 'reader',
  'DELETE /status/backup': 'writer',
  'DELETE /status/restore': 'writer',
  'GET /backup': 'reader',
  'GET /backup/active': 'reader',
  'GET /backup/:backup/info': 'reader',
  'GET /backup/:backup/download': 'reader',
  'POST /backup/upload': 'writer',
  'POST /backup/:backup/restore': 'writer',
  'DELETE /backup/:backup': 'writer',
  'POST /backup/:backup/verify': 'reader',
  'GET /backups': 'reader',
  'GET /backups/active': 'reader',
  'GET /backups/:backup/info': 'reader',
  'GET /backups/:backup/download': 'reader',
  'POST /backups/upload': 'writer',
  'POST /backups/:backup/restore': 'writer',
  'DELETE /backups/:backup': 'writer',
  'POST /backups/:backup/verify': 'reader',
} satisfies Record<string, Caller>

/** `POST /api/v2/collection` to its callers. */
export const callers: ReadonlyMap<string, Caller> = new Map<string, Caller>([
  ['GET /metrics', 'server'],
  ['GET /', 'nobody'],
  ['GET /assets/:file', 'nobody'],
  ...prefixed(v1, '/api/v1'),
  ...prefixed(v2, '/api/v2'),
])

function prefixed(routes: Readonly<Record<string, Caller>>, prefix: string): [string, Caller][] {
  return Object.entries(routes).map(([route, caller]) => [route.replace(' ', ` ${prefix}`), caller])
}

/**
 * The path of a request to a route, with `x` as every parameter. A stream would have no end, so it gets a place after the log, which is refused.
 */
export function requestPath(url: string): string {
  const path = url.replaceAll(/:\w+|\{\w+\}|\*/g, 'x')
  return path.endsWith('/api/v2/changes') ? `${path}?from=${Number.MAX_SAFE_INTEGER}` : path
}

/** The routes that the server registers, without HEAD, which fastify derives from GET. */
export async function registeredRoutes({ engine }: RunningApp): Promise<string[]> {
  const app = createApp({ slot: slotWith(engine), config: { ...readConfig({}).config, logLevel: 'silent' } })
  const routes: string[] = []
  app.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat()) if (one !== 'HEAD') routes.push(`${one} ${url}`)
  })
  await app.ready()
  await app.close()
  return routes
}
