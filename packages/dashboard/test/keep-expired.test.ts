// Dialogs that make a collection out of another state: a branch, a clone, a backup, and a moment of the log, with and without the expiry of
// its objects.
import { test } from 'tap'
import { browserFor, openPage, skip, type Watched } from './browser.ts'
import { makeArticles } from './fixture.ts'
import { callServer, realServer } from './real-server.ts'
import { submit } from './steps.ts'

const choice = 'Objects of the new collection do not expire'

test('objects of a branch, a clone, and a restored collection keep their expiry, or do not expire', {
  skip,
  timeout: 240_000,
}, async (t) => {
  const address = await realServer(t)
  await makeArticles(address, 10)
  const fields = { embedding: Array.from({ length: 16 }, () => 0.5) }
  const { lsn } = (await callServer(address, 'POST', '/api/v2/collection/articles/objects', {
    objects: [{ id: 'brief', expires_at: '2999-01-01T00:00:00Z', fields }],
  })) as { readonly lsn: number }
  const seen = await openPage(await browserFor(t), address)
  const made = async (target: string, open: (seen: Watched) => Promise<void>, field: string, action: string) => {
    for (const keeps of [false, true]) {
      const name = `${target}_${keeps}`
      await open(seen)
      await seen.sees(choice)
      if (keeps) {
        await seen.tick(choice)
        t.strictSame(await seen.barriers(), [], `${target}: no accessibility barriers`)
      }
      await submit(seen, { [field]: name }, action, name)
      await seen.page.waitForFunction(() => document.querySelector('dialog') === null)
      const { objects } = (await callServer(address, 'POST', `/api/v2/collection/${name}/objects/query`, {
        ids: ['brief'],
      })) as { readonly objects: readonly { readonly expires_at?: string }[] }
      const expiry = objects[0]?.expires_at
      t.equal(expiry, keeps ? undefined : '2999-01-01T00:00:00.000Z', name)
    }
  }
  const branching = async () => {
    await seen.go('#/collections/articles/branches')
    await seen.click('New branch…')
  }
  await made('branched', branching, 'Branch name', 'Create branch')
  const cloning = async () => {
    await seen.go('#/collections/articles')
    await seen.click('Clone…')
  }
  await made('cloned', cloning, 'Clone name', 'Clone')
  await callServer(address, 'POST', '/api/v2/collection/articles/backup', { name: 'before' })
  const restoring = async () => {
    await seen.go('#/backups')
    await seen.click('Restore before')
  }
  await made('restored', restoring, 'New collection name', 'Restore')
  const returning = async () => {
    await seen.go(`#/log?collection=articles&lsn=${lsn}`)
    await seen.fill('LSN', String(lsn))
    await seen.sees(`As of LSN ${lsn}`)
    await seen.click('Restore to here…')
  }
  await made('returned', returning, 'New collection name', 'Restore')
  t.strictSame(seen.faults, [])
})
