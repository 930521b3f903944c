// History, undo, aliases, branches and cursors, against a running server and on a closed directory.
import path from 'node:path'
import { test } from 'tap'
import { annal, freshDir, serve } from './command.ts'

const call = async (address: string, method: string, route: string, body: unknown) => {
  const headers = { 'content-type': 'application/json', 'x-annal-actor': 'agent 7' }
  const reply = await fetch(address + route, { method, headers, body: JSON.stringify(body) })
  if (!reply.ok) throw new Error(await reply.text())
  return (await reply.json()) as { readonly lsn: number }
}

/** Two films, of which one is changed, and a third that is added later, with the LSNs of these writes. */
async function makeFilms(address: string) {
  const fields = [{ name: 'plot', type: 'vector', params: { dimension: 2, space_type: 'l2', precision: 'float32' } }]
  await call(address, 'POST', '/api/v2/collection', { name: 'films', fields })
  const film = (id: string, title: string) => ({
    id,
    meta: { title },
    filter: { year: 1979 },
    fields: { plot: [1, 2] },
  })
  const write = (...objects: unknown[]) => call(address, 'POST', '/api/v2/collection/films/objects', { objects })
  const { lsn: before } = await write(film('alien', 'Alien'), film('stalker', 'Stalker'))
  const { lsn: changed } = await write(film('alien', 'Aliens'))
  const { lsn: added } = await write(film('brazil', 'Brazil'))
  return { before, changed, added }
}

test('history and diff show what became of objects, and undo takes it back after a confirmation', async (t) => {
  const dir = freshDir(t)
  const data = path.join(dir, 'data')
  const { address, stop } = await serve(t, data)
  const ask = (...args: readonly string[]) => annal(args, { NDD_SERVER_URL: address })
  const { before, changed, added } = await makeFilms(address)

  const history = await ask('history', 'films', 'alien')
  t.equal(history.code, 0, history.err)
  t.match(history.out, /^LSN +time +kind +author +changes\n/)
  t.match(history.out, /created .*\n.*written .*agent 7 .*meta\.title: "Alien" -> "Aliens"\n$/)
  const json = JSON.parse((await ask('history', 'films', 'alien', '--json', '--from', String(changed))).out)
  t.match(json, { collection: 'films', id: 'alien', versions: [{ kind: 'written', author: { actor: 'agent 7' } }] })
  t.equal(json.versions.length, 1)
  t.match(await ask('history', 'films', 'nobody'), { code: 1, out: 'the log has no version of nobody\n' })
  t.match(await ask('history', 'none', 'alien'), { code: 76, err: /collection_not_found/ })

  const diff = await ask('diff', 'films', '--from', String(before))
  t.match(diff, { code: 0, out: '~ alien\n+ brazil\n', err: '1 added, 1 changed, 0 removed\n' })
  const lines = await ask('diff', 'films', '--from', String(before), '--to', String(changed), '--json')
  t.equal(lines.out, '{"id":"alien","change":"changed"}\n')
  for (const from of ['yesterday', '1.5', '2026-02-30', '2026-11-27T10:00:00', '-1'])
    t.match(await ask('diff', 'films', `--from=${from}`), { code: 64, err: `--from ${from} is neither an LSN nor` })
  t.match(await ask('diff', 'none', '--from', '1'), { code: 76, err: /collection_not_found/ })
  t.match(await ask('diff', 'films'), { code: 64 })

  const undo = ['undo', 'films', '--as-of', String(before), '--ids', 'alien,brazil']
  const counted = await ask(...undo, '--dry-run')
  t.equal(counted.out, `films as of LSN ${before}: 1 object would be restored, 1 would be deleted\n`)
  t.match(await ask(...undo), {
    code: 64,
    out: '',
    err: /restores 1 object of films as of LSN .*; add --yes to confirm/,
  })
  t.match((await ask('history', 'films', 'alien')).out, /"Aliens"\n$/, 'nothing was changed')
  const byFilter = [
    'undo',
    'films',
    '--as-of',
    String(before),
    '--filter',
    '[{"year":{"$eq":1979}}]',
    '--yes',
    '--json',
  ]
  t.match(JSON.parse((await ask(...byFilter)).out), { collection: 'films', restored: 1, deleted: 1, asOfLsn: before })
  t.match((await ask('history', 'films', 'alien')).out, /restored .*as of LSN \d+; meta\.title: "Aliens" -> "Alien"\n$/)
  t.equal((await ask('diff', 'films', '--from', String(before))).out, '')
  const { lsn: expired } = await call(address, 'POST', '/api/v2/collection/films/objects', {
    objects: [{ id: 'metropolis', expires_at: '2020-01-01T00:00:00Z', fields: { plot: [1, 2] } }],
  })
  t.equal((await ask('backup', 'create', 'films', 'dusk')).code, 0)
  const [hidden, kept] = [
    await ask('restore', 'dusk', 'hidden'),
    await ask('restore', 'dusk', 'kept', '--keep-expired'),
  ]
  t.equal((await ask('get', 'hidden', 'metropolis')).code, 1, hidden.err)
  t.match(await ask('get', 'kept', 'metropolis', '--json'), { code: 0, out: /"id":"metropolis"/ }, kept.err)
  const revive = ['undo', 'films', '--as-of', String(expired), '--ids', 'metropolis', '--yes']
  t.match(await ask(...revive), { code: 0, out: /0 objects restored/ })
  t.match(await ask(...revive, '--keep-expired'), { code: 0, out: /1 object restored, 0 deleted/ })
  t.match(await ask('undo', 'films', '--as-of', '1'), { code: 64, err: /choose the objects with --ids or --filter/ })
  t.match(await ask(...undo, '--filter', '[]'), { code: 64, err: /cannot be used with/ })
  t.match(await ask('undo', 'films', '--as-of', '1', '--filter', '{'), { code: 64, err: /must be a JSON list/ })
  t.match(await ask('undo', 'films', '--as-of', '999999', '--ids', 'alien', '--yes'), { code: /64|76/ })

  await stop()
  t.equal(
    (await annal(['diff', 'films', '-d', data, '--from', String(before), '--to', String(added)])).out,
    '~ alien\n+ brazil\n',
  )
  t.match(await annal(['diff', 'none', '-d', data, '--from', '1']), { code: 76, err: /collection_not_found/ })
  t.match((await annal(['history', 'films', 'stalker', '-d', data])).out, /created/)
  t.match(await ask('diff', 'films', '--from', '1'), { code: 69 })
})

test('aliases, branches and cursors are listed, made and removed', async (t) => {
  const dir = freshDir(t)
  const { address } = await serve(t, path.join(dir, 'data'))
  const ask = (...args: readonly string[]) => annal(args, { NDD_SERVER_URL: address })
  const { before } = await makeFilms(address)

  t.match(await ask('alias', 'list'), { code: 0, out: '' })
  t.equal((await ask('alias', 'put', 'live', 'films')).out, 'live leads to films\n')
  t.match((await ask('alias', 'list')).out, /^alias +collection +LSN +since\nlive +films +\d+ +\S+Z\n$/)
  t.match(JSON.parse((await ask('alias', 'list', '--json')).out), { aliases: [{ name: 'live', collection: 'films' }] })
  t.match(await ask('alias', 'put', 'films', 'films'), { code: 76, err: /collection_exists/ })

  t.equal((await ask('branch', 'live', 'then', '--as-of', String(before))).out, 'then has 2 objects\n')
  t.match(JSON.parse((await ask('branch', 'then', 'trial', '--json')).out), { collection: 'trial', count: 2 })
  t.match(await ask('branch', 'films', 'then'), { code: 76, err: /collection_exists/ })
  t.match(await ask('branch', 'films', 'x', '--as-of', 'then'), { code: 64, err: /--as-of then is neither/ })
  const tree = (await ask('branches', 'films')).out
  t.match(
    tree,
    new RegExp(
      `^collection +parent LSN +created +objects\\nfilms +- .* 3\\n {2}then +${before} .* 2\\n {4}trial .* 2\\n$`,
    ),
  )
  t.equal(JSON.parse((await ask('branches', 'trial', '--json')).out).branches.length, 3)
  const promoted = await ask('promote', 'trial', '--over', 'films', '--keep-as', 'films_old')
  t.equal(promoted.out, 'trial is named films; the collection of that name is named films_old\n')
  t.match((await ask('branches', 'films')).out, /films_old .* 3\n {2}then .* 2\n {4}films .* 2\n$/)
  t.match((await ask('promote', 'then')).code, 64)

  t.equal((await ask('alias', 'delete', 'live')).out, 'alias live deleted\n')
  t.match(await ask('alias', 'delete', 'live'), { code: 76, err: /alias_not_found/ })

  t.match(await ask('cursors', 'list'), { code: 0, out: '' })
  await ask('changes', '--from', '1', '--cursor', 'cache', '-n', '1')
  t.match((await ask('cursors', 'list')).out, /^cursor +LSN +updated\ncache +\d+ +\S+Z\n$/)
  t.match(JSON.parse((await ask('cursors', 'list', '--json')).out), { cursors: [{ name: 'cache' }] })
  t.match(await ask('cursors', 'delete', 'cache'), { code: 64, err: /loses its position; add --yes to confirm/ })
  t.equal((await ask('cursors', 'delete', 'cache', '--yes')).out, 'cursor cache deleted\n')
  t.match(await ask('cursors', 'delete', 'cache', '-y'), { code: 76, err: /feed_cursor_not_found/ })
})
