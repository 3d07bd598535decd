template <int SIZE>
__device__ void multiplyTiles(const float* A, const float* B, float* C, int n) {
    __shared__ float As[SIZE][SIZE];
    __shared__ float Bs[SIZE][SIZE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * SIZE + ty, col = blockIdx.x * SIZE + tx;
    float c = 0;
    for (int k0 = 0; k0 < n; k0 += SIZE) {
        As[ty][tx] = (row < n && k0 + tx < n) ? A[row * n + k0 + tx] : 0;
        Bs[ty][tx] = (k0 + ty < n && col < n) ? B[(k0 + ty) * n + col] : 0;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < SIZE; ++k) c += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    if (row < n && col < n) C[row * n + col] = c;
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    multiplyTiles<16>(M, N, P, Width);
}
