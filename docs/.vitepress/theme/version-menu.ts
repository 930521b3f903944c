// The version of the site, and a menu of the others where there are any. A build with versions has the file versions.json above its own
// folder, so that the pages of an old version know of newer ones.
import { useData } from 'vitepress'
import { defineComponent, h, onMounted, ref } from 'vue'

export const VersionMenu = defineComponent({
  name: 'VersionMenu',
  setup() {
    const { site, theme } = useData()
    const version = theme.value.version as string
    const versions = ref<readonly string[]>([version])
    // `/0.1.0/` of `/docs/0.1.0/`: what is above is the same for each version.
    const own = `/${version}/`
    const isVersioned = site.value.base.endsWith(own)
    const above = site.value.base.slice(0, -own.length + 1)
    onMounted(async () => {
      if (!isVersioned) return
      const reply = await fetch(`${above}versions.json`)
      if (reply.ok) versions.value = ((await reply.json()) as { readonly versions: readonly string[] }).versions
    })
    return () =>
      versions.value.length === 1
        ? h('span', { class: 'version-menu', title: 'Version of these pages' }, version)
        : h(
            'select',
            {
              class: 'version-menu',
              'aria-label': 'Version',
              value: version,
              onChange: (event: Event) => {
                location.href = `${above}${(event.target as HTMLSelectElement).value}/`
              },
            },
            versions.value.map((name) => h('option', { value: name }, name)),
          )
  },
})
