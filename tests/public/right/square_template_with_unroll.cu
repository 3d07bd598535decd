template <int BLOCK>
static __device__ void body(float* C, const float* A, const float* B, int w) {
    __shared__ float as[BLOCK][BLOCK], bs[BLOCK][BLOCK];
    const int r = blockIdx.y * BLOCK + threadIdx.y, c = blockIdx.x * BLOCK + threadIdx.x;
    float s = 0;
    for (int k0 = 0; k0 < w; k0 += BLOCK) {
        as[threadIdx.y][threadIdx.x] = A[r * w + k0 + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = B[(k0 + threadIdx.y) * w + c];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BLOCK; ++k) s += as[threadIdx.y][k] * bs[k][threadIdx.x];
        __syncthreads();
    }
    C[r * w + c] = s;
}
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    if (blockDim.x == 16) body<16>(P, M, N, Width);
    else if (blockDim.x == 32) body<32>(P, M, N, Width);
    else body<8>(P, M, N, Width);
}
