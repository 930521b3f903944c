// A process that dies during a backup: the backup is complete or does not exist, and is not resumed.
import { setTimeout as sleep } from 'node:timers/promises'
import tap, { test } from 'tap'
import { send, temporaryDirectory } from './running-app.ts'
import { startProcess } from './running-process.ts'

const rounds = process.env.ANNAL_LONG === '1' ? 20 : 2
const objects = 2_000

tap.setTimeout(rounds * 120_000)

test('a backup that a crash interrupts does not resume, and a new one can be created', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const begin = async () => {
    const running = startProcess({ NDD_DATA_DIR: dataDir })
    t.teardown(() => running.child.kill('SIGKILL'))
    return { ...running, url: await running.serving }
  }
  const backup = (url: string, name: string) => send(url, 'POST', '/api/v1/index/docs/backup', { json: { name } })
  const listed = async (url: string) => Object.keys((await send(url, 'GET', '/api/v1/backups')).json()).sort()
  const isActive = async (url: string) => (await send(url, 'GET', '/api/v1/backups/active')).json().active === true

  let running = await begin()
  const index = { index_name: 'docs', dim: 64, space_type: 'l2', precision: 'float32' }
  t.equal((await send(running.url, 'POST', '/api/v1/index/create', { json: index })).status, 200)
  for (let start = 0; start < objects; start += 1_000) {
    const json = Array.from({ length: 1_000 }, (_, i) => ({
      id: `o${start + i}`,
      vector: new Array(64).fill(start + i),
    }))
    t.equal((await send(running.url, 'POST', '/api/v1/index/docs/vector/insert', { json })).status, 200)
  }
  for (let round = 0; round < rounds; round++) {
    t.equal((await backup(running.url, `cut${round}`)).status, 202)
    running.child.kill('SIGKILL')
    await running.ended

    running = await begin()
    const { url } = running
    t.same((await send(url, 'GET', '/api/v1/backups/active')).json(), { active: false }, 'nothing is under way')
    const before = await listed(url)
    t.equal((await backup(url, `whole${round}`)).status, 202)
    while (await isActive(url)) await sleep(20)
    t.same(await listed(url), [...before, `whole${round}`].sort(), 'only the new one was made')
    for (const name of [`cut${round}`, `whole${round}`]) {
      const restored = await send(url, 'POST', `/api/v1/backups/${name}/restore`, {
        json: { target_index_name: `of_${name}` },
      })
      t.equal(restored.status, [...before, `whole${round}`].includes(name) ? 201 : 400, name)
      if (restored.status !== 201) continue
      const info = await send(url, 'GET', `/api/v1/index/of_${name}/info`)
      t.match(info.json(), { total_elements: objects }, 'what is listed is whole')
    }
  }
  running.child.kill('SIGTERM')
  t.equal((await running.ended).code, 0)
})
