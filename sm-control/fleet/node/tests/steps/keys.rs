//! Keys in files, for another process.

use std::io;
use std::path::Path;

use minisign::{KeyPair, PublicKey, SecretKey};

use crate::made::Keys;

const ROOT: &str = "root-key";
const LEADER: &str = "leader-key";

impl Keys {
    /// Puts them where another process finds them. Errors: of the disk.
    pub(crate) fn save(&self, directory: &Path) -> io::Result<()> {
        for (name, pair) in [(ROOT, &self.root), (LEADER, &self.leader)] {
            std::fs::write(directory.join(name), pair.sk.to_bytes())?;
        }
        Ok(())
    }

    /// What [`Self::save`] has put there. Errors: of the disk; they are no keys.
    pub(crate) fn load(directory: &Path) -> io::Result<Self> {
        let pair = |name| {
            let bytes = std::fs::read(directory.join(name))?;
            let sk = SecretKey::from_bytes(&bytes).map_err(io::Error::other)?;
            let pk = PublicKey::from_secret_key(&sk).map_err(io::Error::other)?;
            io::Result::Ok(KeyPair { pk, sk })
        };
        let (root, leader) = (pair(ROOT)?, pair(LEADER)?);
        Ok(Self { root, leader })
    }
}
