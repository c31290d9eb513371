/** Logging in: the token is sent once, and a cookie that no script can read stands for it from then on. */

import { call } from "../app/api.js";
import { html, useState } from "../app/dom.js";
import { ProblemNote } from "../ui/parts.js";
import { Field } from "../ui/dialog.js";

export function Login({ onIn }) {
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      await call("POST", "/session", { body: { token: new FormData(event.target).get("token").trim() } });
      await onIn();
    } catch (error) {
      setProblem(error);
    }
    setBusy(false);
  };
  return html`<main class="login">
    <form onSubmit=${submit}>
      <h1>Headgate</h1>
      <p>This server asks who calls. Log in with a token; <code>headgate token NAME --role viewer</code> makes one.</p>
      <${Field} label="Token" problem=${problem?.field === "token" ? problem.message : null}>
        <input name="token" type="password" autocomplete="current-password" required autofocus />
      <//>
      ${problem?.field !== "token" && html`<${ProblemNote} problem=${problem} />`}
      <button class="primary" disabled=${busy}>${busy ? "Looking…" : "Log in"}</button>
    </form>
  </main>`;
}
