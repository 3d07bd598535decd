// Bulk copies of 48 bytes that begin in the middle of a sector, and back.
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ __align__(16) float piece[12];
    __shared__ unsigned long long barrier;
    int thread = threadIdx.y * blockDim.x + threadIdx.x;
    int first = (blockIdx.y * gridDim.x + blockIdx.x) * 12 + 4;
    unsigned at = (unsigned)__cvta_generic_to_shared(piece), full = (unsigned)__cvta_generic_to_shared(&barrier);
    if (thread == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(full) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 48;" ::"r"(full) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 48, [%2];"
                     ::"r"(at), "l"(M + first), "r"(full) : "memory");
    }
    __syncthreads();
    asm volatile("{.reg .pred done; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0; @!done bra AGAIN;}"
                 ::"r"(full) : "memory");
    if (thread == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 48;" ::"l"(P + first), "r"(at) : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
    }
}
