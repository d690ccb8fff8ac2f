//! What operators see in a browser, through one: Chromium without a window, by WebDriver (`sa_tests::webdriver`).

mod bed;
mod fleet;
mod judges;
mod pages;
mod pictures;
mod rollback;
mod thousand;
