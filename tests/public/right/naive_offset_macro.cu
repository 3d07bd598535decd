#define OFFSET(row, col, ld) ((row) * (ld) + (col))
#define CEIL(a, b) (((a) + (b)-1) / (b))

__global__ void MatrixMulKernel(float * __restrict__ a, float * __restrict__ b, float * __restrict__ c,
                                const int N) {
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    int m = blockIdx.y * blockDim.y + threadIdx.y;
    if (m < N && n < N) {
        float psum = 0.0;
        #pragma unroll
        for (int k = 0; k < N; k++) {
            psum += a[OFFSET(m, k, N)] * b[OFFSET(k, n, N)];
        }
        c[OFFSET(m, n, N)] = psum;
    }
}
