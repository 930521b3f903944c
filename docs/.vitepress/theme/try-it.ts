// An editable program that runs in the reader's browser with the client, against the reader's own server. Nothing is loaded from elsewhere,
// and nothing is sent before the reader presses Run.
import { defineComponent, h, onMounted, ref } from 'vue'
import filters from '../../site/examples/filters.ts?raw'
import time from '../../site/examples/time.ts?raw'
import words from '../../site/examples/words.ts?raw'

const examples: Readonly<Record<string, string>> = { Words: words, Time: time, Filters: filters }
const importLine = /^import \{([^}]+)\} from '@annal\/client'$/gm

type Program = (annal: object, console: object, url: string, token: string | undefined) => Promise<void>

/** The program as a function: what it imports comes from a parameter, and so do its console and the fields of the page. */
function compile(code: string): Program {
  const AsyncFunction = (async () => undefined).constructor as new (...parts: string[]) => Program
  return new AsyncFunction('annal', 'console', 'url', 'token', code.replace(importLine, 'const {$1} = annal'))
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
}

export const TryIt = defineComponent({
  name: 'TryIt',
  setup() {
    const url = ref('http://127.0.0.1:8080')
    const token = ref('')
    const code = ref(words)
    const output = ref('')
    const isRunning = ref(false)
    const origin = ref('')
    onMounted(() => {
      origin.value = location.origin
    })

    async function run(): Promise<void> {
      isRunning.value = true
      output.value = ''
      const log = (...values: readonly unknown[]) => {
        output.value += `${values.map(shown).join(' ')}\n`
      }
      try {
        const annal = await import('@annal/client')
        await compile(code.value)(annal, { log, error: log }, url.value, token.value || undefined)
      } catch (error) {
        log(error instanceof Error ? `${error.name}: ${error.message}` : error)
      } finally {
        isRunning.value = false
      }
    }

    const field = (label: string, value: typeof url, type: string) =>
      h('label', [
        label,
        h('input', {
          type,
          value: value.value,
          autocomplete: 'off',
          spellcheck: false,
          onInput: (event: Event) => {
            value.value = (event.target as HTMLInputElement).value
          },
        }),
      ])

    return () =>
      h('div', { class: 'try-it' }, [
        h('p', ['Start a server that accepts this page:']),
        h('pre', { class: 'try-command' }, `NDD_CORS_ORIGINS=${origin.value} npm start`),
        h('div', { class: 'try-fields' }, [
          field('Server', url, 'url'),
          field('Token (if needed)', token, 'password'),
          h('label', [
            'Example',
            h(
              'select',
              {
                onChange: (event: Event) => {
                  code.value = examples[(event.target as HTMLSelectElement).value] ?? ''
                  output.value = ''
                },
              },
              Object.keys(examples).map((name) => h('option', { value: name }, name)),
            ),
          ]),
        ]),
        h('textarea', {
          'aria-label': 'Program',
          value: code.value,
          rows: 24,
          spellcheck: false,
          onInput: (event: Event) => {
            code.value = (event.target as HTMLTextAreaElement).value
          },
        }),
        h('button', { type: 'button', disabled: isRunning.value, onClick: run }, isRunning.value ? 'Running' : 'Run'),
        h('pre', { class: 'try-output', role: 'status', 'aria-label': 'Output' }, output.value),
      ])
  },
})
