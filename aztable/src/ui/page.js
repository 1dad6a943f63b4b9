// Exchanges the token of the address for a cookie, and keeps the plan of a query up to date while it is typed.
const token = location.hash.slice(1);
if (token && document.getElementById("door")) {
  fetch("/session", { method: "POST", body: token }).then(done => {
    if (done.ok) location.replace("/");
    else document.getElementById("door").textContent = "This is not the address that aztable printed.";
  });
}
const form = document.getElementById("query"), plan = document.getElementById("plan");
if (form && plan) {
  let waiting;
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      const typed = new URLSearchParams(new FormData(form));
      const shown = await fetch(`${location.pathname}/plan?${typed}`);
      plan.innerHTML = await shown.text();
    }, 200);
  });
}
