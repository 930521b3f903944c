// Sign-in without a token, with a wrong token and with the right one; where the token is stored and where it never is.
import { test } from 'tap'
import { browserFor, openPage, skip } from './browser.ts'
import { callServer, realServer } from './real-server.ts'
import { root, signIn, startTrial, submit } from './steps.ts'

const token = 'a-token-of-enough-characters'

test('the page requires a token, refuses a wrong one, and remembers the right one in the tab', {
  skip,
  timeout: 120_000,
}, async (t) => {
  const address = await realServer(t, { NDD_AUTH_TOKEN: token })
  const seen = await openPage(await browserFor(t), address, { expectedStatus: 401 })
  const requests: string[] = []
  seen.page.on('request', (request) => requests.push(request.url()))
  await seen.sees('This server requires a token')
  await seen.picture('sign-in')
  t.strictSame(await seen.barriers(), [])
  await signIn(seen, 'a-wrong-token')
  await seen.sees('invalid_token')
  await seen.sees('Send a valid token.')
  await seen.picture('sign-in-wrong')

  await signIn(seen, token)
  await seen.sees('No collections yet')
  await seen.page.reload()
  await seen.sees('No collections yet')
  const kept = await seen.page.evaluate(() => ({
    session: JSON.stringify(sessionStorage),
    local: JSON.stringify(localStorage),
    cookie: document.cookie,
    address: location.href,
  }))
  t.match(kept.session, token, 'remembered for this tab')
  t.notMatch(kept.local + kept.cookie + kept.address, token)
  t.notMatch(requests.join(' '), token, 'in no requested address')

  await seen.click('Sign out')
  await seen.sees('This server requires a token')
  t.notMatch(await seen.page.evaluate(() => JSON.stringify(sessionStorage)), token)
  await seen.tick('Remember until this tab is closed')
  await signIn(seen, token)
  await seen.sees('No collections yet')
  await seen.page.reload()
  await seen.sees('This server requires a token')
  t.strictSame(seen.faults, [])
})

test('with a trial the root token creates databases, and their tokens open only them', {
  skip,
  timeout: 120_000,
}, async (t) => {
  const address = await realServer(t, { NDD_ROOT_TOKEN: root })
  const browser = await browserFor(t)
  const seen = await openPage(browser, address, { expectedStatus: 401 })
  await signIn(seen, root)
  await seen.sees('No active license')
  await seen.follow('License')
  await seen.sees('Without a license')
  await seen.picture('license-none')
  t.strictSame(await seen.barriers(), [])
  const sent = seen.page.waitForRequest((request) => request.url().endsWith('/license/generate'))
  await startTrial(seen)
  t.equal((await sent).headers().authorization, `Bearer ${root}`, 'the trial is started with the root token')
  await seen.sees('License ID')
  await seen.picture('license')
  await seen.follow('Databases')
  await seen.click('New database')
  await submit(seen, { Name: 'library' }, 'Create database', 'It is shown only once')
  const made = await seen.page.$eval('dialog textarea', (area) => (area as HTMLTextAreaElement).value)
  t.match(made, /^library:/)
  await seen.click('I have stored it')
  await seen.sees('library')
  await seen.picture('databases')
  t.strictSame(await seen.barriers(), [])

  const phone = await openPage(browser, address, { theme: 'dark', width: 390, height: 844, expectedStatus: 401 })
  await signIn(phone, root)
  for (const [name, text] of [
    ['databases', 'library'],
    ['license', 'License ID'],
  ] as const) {
    await phone.go(`#/${name}`)
    await phone.sees(text)
    await phone.picture(`${name}-phone`)
    t.strictSame(await phone.barriers(), [], name)
    const wide = await phone.page.evaluate(() => document.documentElement.scrollWidth)
    t.ok(wide <= 390, `${name} fits the phone (${wide})`)
  }
  t.strictSame(phone.faults, [])

  const member = await openPage(browser, address, { expectedStatus: 401 })
  await signIn(member, made)
  await member.sees('New collection')
  await member.follow('New collection')
  await submit(member, { Name: 'books' }, 'Create collection', 'Collection books created.')
  t.notOk(await member.page.$('a[href="#/databases"]'), 'a database token does not manage databases')
  await callServer(address, 'DELETE', '/api/v2/admin/dbs/library', undefined, root)
  await member.sees('Sign in')
  t.notOk(await member.page.$('.shell'), 'a deleted token ends the session')
  // A request of the page may find the collection gone before the token is.
  const faults = member.faults.filter((fault) => !/404 \(Not Found\) \S*\/collection\/books\//.test(fault))
  t.strictSame(faults, [])
  t.strictSame(seen.faults, [])
})
