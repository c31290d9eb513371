/** Where the console begins: who calls, and then the page that the address names. */

import { get } from "./api.js";
import { html, render, useEffect, useState } from "./dom.js";
import { followVisibility, setLive } from "./live.js";
import { MayWrite } from "./may.js";
import { applyTheme, pref } from "./prefs.js";
import { useRoute } from "./route.js";
import { DialogHost } from "../ui/dialog.js";
import { useKeys } from "../ui/keys.js";
import { Loading, ProblemNote } from "../ui/parts.js";
import { Strip } from "../ui/strip.js";
import { ToastHost } from "../ui/toast.js";
import { Login } from "../pages/login.js";
import { pageOf } from "../pages/pages.js";

function Console() {
  const [who, setWho] = useState({ state: "asking", session: null, meta: null, problem: null });
  const route = useRoute();
  useKeys();
  const enter = async () => {
    try {
      const session = await get("/session");
      setWho({ state: "in", session, meta: null, problem: null });
      setLive(pref("live") === "on");
      setWho({ state: "in", session, meta: await get("/meta"), problem: null });
    } catch (problem) {
      setWho((before) =>
        problem.code === "unauthorized" ? { ...before, state: "out" } : { ...before, state: before.session ? "in" : "failed", problem },
      );
    }
  };
  useEffect(() => void enter(), []);
  const [Page, name] = pageOf(route.page);
  useEffect(() => {
    document.title = `${route.id ?? name} · Headgate`;
  }, [route.page, route.id]);

  if (who.state === "asking") return html`<main><${Loading} /></main>`;
  if (who.state === "out") return html`<${Login} onIn=${enter} />`;
  if (who.state === "failed") return html`<main><${ProblemNote} problem=${who.problem} retry=${enter} /></main>`;
  const mayWrite = who.session.role === "operator" && who.meta?.read_only === false;
  return html`<${MayWrite.Provider} value=${mayWrite}>
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); document.querySelector("main").focus(); }}>Skip to content</a>
    <${Strip} meta=${who.meta} session=${who.session} />
    <main id="main" tabindex="-1"><${Page} key=${`${route.page}/${route.id ?? ""}`} route=${route} meta=${who.meta} /></main>
    <${DialogHost} /><${ToastHost} />
  <//>`;
}

applyTheme();
followVisibility(() => pref("live") === "on");
render(html`<${Console} />`, document.getElementById("console"));
