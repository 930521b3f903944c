// A backup is downloaded as a file and uploaded under another name.
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { ElementHandle } from 'puppeteer-core'
import { test } from 'tap'
import { browserFor, openPage, skip } from './browser.ts'
import { makeArticles } from './fixture.ts'
import { callServer, realServer } from './real-server.ts'

test('a backup is downloaded, uploaded and restored', { skip, timeout: 120_000 }, async (t) => {
  const address = await realServer(t)
  await makeArticles(address, 30)
  const folder = await mkdtemp(path.join(os.tmpdir(), 'annal-download-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const seen = await openPage(await browserFor(t), address, { downloads: folder })
  await seen.go('#/backups')
  await seen.click('New backup')
  await seen.fill('Backup name', 'away')
  await seen.click('Create backup')
  await seen.click('Download away')
  const file = path.join(folder, 'away.tar')
  while (!(await readdir(folder)).includes('away.tar')) await wait(50)
  await seen.click('Upload')
  const chooser = (await seen.page.waitForSelector('dialog input[type=file]')) as ElementHandle<HTMLInputElement>
  await chooser.uploadFile(file)
  await seen.fill('Backup name', 'back')
  await seen.page.locator('dialog button[type=submit]').click()
  await seen.sees('Backup back uploaded.')
  await seen.click('Restore back')
  await seen.click('Restore')
  await seen.sees('Restored as articles_restored.')
  const restored = await callServer(address, 'GET', '/api/v2/collection/articles_restored')
  t.match(restored, { total_elements: 30 })
  t.strictSame(seen.faults, [])
})
