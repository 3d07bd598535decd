__device__ __forceinline__ void copy(float* to, const float* from)
{
    unsigned at = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(from) : "memory");
}
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float A[2][TILE_WIDTH][TILE_WIDTH], B[2][TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0;
    copy(&A[0][ty][tx], &M[row * Width + tx]);
    copy(&B[0][ty][tx], &N[ty * Width + col]);
    for (int k0 = 0, now = 0; k0 < Width; k0 += TILE_WIDTH, now ^= 1) {
        asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
        __syncthreads();
        if (k0 + TILE_WIDTH < Width) {
            copy(&A[now ^ 1][ty][tx], &M[row * Width + k0 + TILE_WIDTH + tx]);
            copy(&B[now ^ 1][ty][tx], &N[(k0 + TILE_WIDTH + ty) * Width + col]);
        }
        for (int k = 0; k < TILE_WIDTH; ++k) sum += A[now][ty][k] * B[now][k][tx];
    }
    P[row * Width + col] = sum;
}
