#define BLOCK_X 16
#define BLOCK_Y 16
__global__ void MatrixMulKernel(float* d_a, float* d_b, float* d_c, int n) {
    __shared__ float s_a[BLOCK_Y][BLOCK_X], s_b[BLOCK_X][BLOCK_Y];
    const int row = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int col = blockIdx.x * BLOCK_X + threadIdx.x;
    float c_value = 0.f;
    for (int off = 0; off < n; off += BLOCK_X) {
        s_a[threadIdx.y][threadIdx.x] = row < n && off + threadIdx.x < n ? d_a[row * n + off + threadIdx.x] : 0.f;
        s_b[threadIdx.y][threadIdx.x] = col < n && off + threadIdx.y < n ? d_b[(off + threadIdx.y) * n + col] : 0.f;
        __syncthreads();
        for (int i = 0; i < BLOCK_X; i += 4) {
            c_value += s_a[threadIdx.y][i] * s_b[i][threadIdx.x];
            c_value += s_a[threadIdx.y][i + 1] * s_b[i + 1][threadIdx.x];
            c_value += s_a[threadIdx.y][i + 2] * s_b[i + 2][threadIdx.x];
            c_value += s_a[threadIdx.y][i + 3] * s_b[i + 3][threadIdx.x];
        }
        __syncthreads();
    }
    if (row < n && col < n) d_c[row * n + col] = c_value;
}
