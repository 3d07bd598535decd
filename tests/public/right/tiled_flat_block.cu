//!tilelab block=(T*T) grid=(ceil(Width/T), ceil(Width/T)) tile=T
#define T 16
__global__ void MatrixMulKernel(const float *A, const float *B, float *C, int N) {
    const uint cRow = blockIdx.y, cCol = blockIdx.x;
    __shared__ float As[T * T];
    __shared__ float Bs[T * T];
    const uint threadCol = threadIdx.x % T;
    const uint threadRow = threadIdx.x / T;
    const uint row = cRow * T + threadRow, col = cCol * T + threadCol;
    float tmp = 0.0;
    for (uint bk = 0; bk < N; bk += T) {
        As[threadRow * T + threadCol] = (row < N && bk + threadCol < N) ? A[row * N + bk + threadCol] : 0.0f;
        Bs[threadRow * T + threadCol] = (bk + threadRow < N && col < N) ? B[(bk + threadRow) * N + col] : 0.0f;
        __syncthreads();
        for (uint dot = 0; dot < T; ++dot) tmp += As[threadRow * T + dot] * Bs[dot * T + threadCol];
        __syncthreads();
    }
    if (row < N && col < N) C[row * N + col] = tmp;
}
