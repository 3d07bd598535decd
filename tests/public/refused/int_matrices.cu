#define SHMEM_SIZE (16 * 16)
__global__ void MatrixMulKernel(int *a, int *b, int *c, int N) {
    __shared__ int A[SHMEM_SIZE], B[SHMEM_SIZE];
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    for (int i = 0; i < N; i += blockDim.x) {
        A[threadIdx.y * blockDim.x + threadIdx.x] = a[row * N + i + threadIdx.x];
        B[threadIdx.y * blockDim.x + threadIdx.x] = b[(i + threadIdx.y) * N + col];
        __syncthreads();
        for (int k = 0; k < blockDim.x; k++) sum += A[threadIdx.y * blockDim.x + k] * B[k * blockDim.x + threadIdx.x];
        __syncthreads();
    }
    c[row * N + col] = sum;
}
